"""KerasHub's backbones by their kind, and how they are stored with a model."""

import keras

from tfcopy.keras_internals import all_layers, serialize_shared
from tfcopy.layers.backbones.bart_parts import BartParts
from tfcopy.layers.backbones.t5_parts import T5Parts
from tfcopy.layers.configured import Configured

_KINDS = {"BartBackbone": BartParts, "T5Backbone": T5Parts}


def parts_of(backbone):
    """`BartParts` or `T5Parts`, as the backbone is.

    Raises:
        ValueError: If it is none that can be used.
    """
    for kind in type(backbone).__mro__:
        if kind.__name__ in _KINDS:
            return _KINDS[kind.__name__](backbone)
    raise ValueError(
        f"`backbone` must be one of KerasHub's {', '.join(_KINDS)}. "
        f"Received: {type(backbone).__name__}."
    )


class OfBackbone(Configured):
    """A layer made of some of a backbone's layers, its `parts`.

    Its config holds the whole backbone, which several such layers of a model
    share. A layer is a part of one of them alone.
    """

    def get_config(self):
        backbone = serialize_backbone(self.parts.backbone)
        return {**super().get_config(), "backbone": backbone}

    @classmethod
    def from_config(cls, config):
        backbone = deserialize_backbone(config["backbone"])
        return super().from_config({**config, "backbone": backbone})


def serialize_backbone(backbone):
    """The config of a backbone, and of LoRA if it is enabled.

    Its own config does not tell LoRA, whose weights a loaded one would lack.
    """
    adapted = [
        layer
        for layer in all_layers(backbone)
        if getattr(layer, "lora_enabled", False)
    ]
    lora = None
    if adapted:
        names = sorted({layer.name for layer in adapted})
        lora = {"rank": adapted[0].lora_rank, "target_layer_names": names}
    return {"backbone": serialize_shared(backbone), "lora": lora}


def deserialize_backbone(config):
    """The backbone of such a config."""
    # Imported here: it takes a second, and it registers the classes.
    import keras_hub  # noqa: F401

    backbone = keras.saving.deserialize_keras_object(config["backbone"])
    # Another part of the model may hold the same one.
    if config["lora"] and not serialize_backbone(backbone)["lora"]:
        backbone.enable_lora(**config["lora"])
    return backbone
