"""The decoder of a pretrained network, with an attention that points.

Shapes: B batch, T target steps, K beams, S source steps, D hidden size.
"""

import keras
from keras import ops

from tfcopy.layers.backbones.hub_backbone import OfBackbone, parts_of
from tfcopy.layers.cells.history_cell import HistoryCell
from tfcopy.layers.padding_mask import or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class BackboneCell(OfBackbone, HistoryCell):
    """The decoder of a backbone of KerasHub, and one attention on top of it.

    The decoder's output, `hidden`, queries an attention of our own, whose
    weights copying heads point with. As in `TransformerCell`, training takes
    all steps at once, and a search keeps what the blocks' attentions read, the
    backbone's own caches of keys and values, in a `History`.

    Args:
        backbone: The backbone.
        attention: The attention that points, such as `MultiHeadAttention`;
            none that plans.
    """

    def __init__(self, backbone, attention, **kwargs):
        super().__init__(backbone.hidden_dim, attention, **kwargs)
        self.parts = parts_of(backbone)
        self.decoder_layers = self.parts.decoder_layers

    def build(self, inputs_shape, annotations_shape):
        self._build_attention(inputs_shape, annotations_shape, self.units)

    def _project(self, inputs, matches):
        """The words as they are; see `DecoderCell.project`."""
        return ops.cast(inputs, "float32")

    def prepare(self, annotations, mask=None):
        """Computes all that the steps of a sentence share, a `Memory`."""
        mask = or_all(mask, annotations)
        return self._prepare(
            annotations,
            mask,
            {},
            {"annotations": annotations, "mask": mask},
        )

    def prepare_search(self, annotations, mask):
        """As `prepare`, with the caches of the attentions over the source."""
        memory = self.prepare(annotations, mask)
        caches = self.parts.source_caches(annotations)
        return memory.updated({"caches": caches})

    def _no_rows(self, memory):
        caches = memory.sentences["caches"]
        return {name: cache[:, :, :0] for name, cache in caches.items()}

    def _all_steps(self, words, memory, training):
        sentences = memory.sentences
        hidden = self.parts.decode(
            words, sentences["annotations"], sentences["mask"], training
        )
        return ops.cast(hidden, "float32")

    def _one_step(self, words, memory, history):
        sentences = memory.sentences
        hidden, rows = self.parts.step(
            words,
            sentences["annotations"],
            sentences["mask"],
            sentences["caches"],
            history,
        )
        return ops.cast(hidden, "float32"), rows

    def get_config(self):
        config = super().get_config()
        del config["units"], config["kernel_initializer"]
        return config
