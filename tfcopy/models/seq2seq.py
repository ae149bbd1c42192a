"""Any encoder, any decoder cell, any head.

Shapes: B batch, S source steps, T target steps, V target vocabulary.
"""

import keras
from keras import ops

from tfcopy.layers.copying import (
    PlannedDistribution,
    generation_ids,
    matches,
)
from tfcopy.layers.decoder import Decoder
from tfcopy.layers.decoder_outputs import decoder_outputs
from tfcopy.layers.loop import memory as loop_memory
from tfcopy.layers.teacher_forcing import TeacherForcing
from tfcopy.models.definition_inputs import definition_inputs

# What a planner tells beside the distribution.
PLANNED = PlannedDistribution._fields[4:]

_PARTS = (
    "source_embedding",
    "encoder",
    "initial_state",
    "target_embedding",
    "cell",
    "deep_output",
    "head",
)


@keras.saving.register_keras_serializable(package="tfcopy")
class Seq2Seq(keras.Model):
    """An attentional encoder-decoder that returns a `CopyDistribution`.

    The model takes a dict of `source_ids` and `source_copy_ids`, both
    `(B, S)`, and `target_ids` `(B, T)` (extended ids, ending with EOS) and
    gives the distributions of all target words at once. For search it has
    `encode` and `decode_step`, which call the same layers.

    Words of the source may have definitions and spellings: the dict then
    holds, too, all that `definition_inputs` names for a text `source`. Those
    of the target have none.

    Args:
        source_embedding: Layer from ids `(B, S)` to `(B, S, E)`, or a
            `DefinitionEmbedding`.
        encoder: Layer from `(inputs, mask)` to `(annotations, final)`.
        initial_state: Layer from `(annotations, mask, final)` to the
            decoder's first state `(B, D)`.
        target_embedding: Layer from ids `(B, T)` to `(B, T, E)`; it may be
            the `source_embedding`, if both sides share a vocabulary. Of a
            `DefinitionEmbedding` it is the words' own part.
        cell: A decoder cell.
        deep_output: Layer from the dict of `decoder_outputs` to features.
        head: Layer from features, that dict, annotations and source mask to
            a `CopyDistribution`.
        dropout: Share of the embeddings' elements dropped in training.
        seed: Optional integer, of the dropout.
        candidates: Whether the model takes `candidate_ids`, `(K,)`, as well:
            the only words that get logits. Search does not: see
            `with_candidates`.
    """

    def __init__(
        self,
        source_embedding,
        encoder,
        initial_state,
        target_embedding,
        cell,
        deep_output,
        head,
        dropout=0.0,
        seed=None,
        candidates=False,
        **kwargs,
    ):
        # === Layers ===
        decoder = Decoder(cell, dtype=cell.dtype_policy, name="decoder")
        shift = TeacherForcing(head.vocabulary_size, name="teacher_forcing")
        source_dropout, target_dropout = (
            keras.layers.Dropout(
                dropout,
                seed=None if seed is None else seed + i,
                name=f"{side}_dropout",
            )
            for i, side in enumerate(("source", "target"))
        )

        # === Functional Model ===
        sources, vectors, masks = definition_inputs(
            ("source",), source_embedding
        )
        inputs = {
            **sources,
            **{
                name: keras.Input((None,), dtype="int32", name=name)
                for name in ("source_copy_ids", "target_ids")
            },
        }
        restriction = {}
        if candidates:
            inputs["candidate_ids"] = keras.Input(
                batch_shape=(None,), dtype="int32", name="candidate_ids"
            )
            inputs["candidate_log_weights"] = keras.Input(
                batch_shape=(None,), name="candidate_log_weights"
            )
            restriction = {
                name: inputs[name] for name in inputs if "candidate" in name
            }
        source_mask = masks["source"]
        embedded = source_dropout(vectors["source"])
        annotations, final = encoder(embedded, source_mask)
        first_state = initial_state(annotations, source_mask, final)
        previous, held = shift(inputs["target_ids"], inputs["source_copy_ids"])
        embeddings = target_dropout(target_embedding(previous))
        decoded = decoder(
            embeddings, first_state, annotations, source_mask, held
        )
        outputs = head(
            deep_output(decoded),
            decoded=decoded,
            annotations=annotations,
            source_mask=source_mask,
            **restriction,
        )
        if "replan" in decoded:
            outputs = PlannedDistribution(
                *outputs,
                *(ops.squeeze(decoded[name], -1) for name in PLANNED),
            )
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)

        # === Config ===
        self.source_embedding = source_embedding
        self.encoder = encoder
        self.initial_state = initial_state
        self.target_embedding = target_embedding
        self.cell = cell
        self.deep_output = deep_output
        self.head = head
        self.shift = shift
        self.dropout = dropout
        self.seed = seed
        self.candidates = candidates
        self._source_inputs = tuple(sorted(set(sources) - {"source_ids"}))
        # A method, for a model saves all that its attributes lead to.
        self._embed_source = keras.Function(sources, (vectors, masks)).call

    def with_candidates(self):
        """The same layers, as a model that takes candidates as well.

        For training with the large vocabulary trick; this one goes on to
        search among all words.
        """
        parts = {name: getattr(self, name) for name in _PARTS}
        return type(self)(
            **parts,
            dropout=self.dropout,
            seed=self.seed,
            candidates=True,
            name=self.name,
        )

    @property
    def vocabulary_size(self):
        """V, the size of the target vocabulary."""
        return self.head.vocabulary_size

    @property
    def source_inputs(self):
        """Names of what `encode` takes beside the ids: of definitions."""
        return self._source_inputs

    def encode(self, source_ids, source_copy_ids, **source_inputs):
        """All that decoding needs of the sources.

        Args:
            source_ids: `(B, S)`.
            source_copy_ids: `(B, S)`.
            source_inputs: The further inputs of the model, by name, of the
                definitions and spellings of source words.

        Returns:
            `(memory, state)`: a dict for `decode_step`, and the cell's state
            before the first step.

        Raises:
            ValueError: If the further inputs are not those of the model.
        """
        if set(source_inputs) != set(self.source_inputs):
            raise ValueError(
                "Beside ids, the source embedding must be given "
                f"{sorted(self.source_inputs)}. "
                f"Received: {sorted(source_inputs)}."
            )
        embedded, mask = (
            x["source"]
            for x in self._embed_source(
                {"source_ids": source_ids, **source_inputs}
            )
        )
        annotations, final = self.encoder(embedded, mask)
        memory = self.cell.prepare(annotations, mask)
        first = self.initial_state(annotations, mask, final)
        state = self.cell.initial_state(first, memory)
        state = self.cell.search_state(state, memory)
        sources = {
            "annotations": annotations,
            "source_mask": mask,
            "source_copy_ids": source_copy_ids,
        }
        return {**memory, **sources, **self._cast_weights()}, state

    @staticmethod
    def repeat(memory, state, times):
        """Memory and state with each sentence `times` times in a row."""

        def repeat(x):
            return ops.repeat(x, times, axis=0)

        return (
            loop_memory.map_rows(memory, repeat),
            keras.tree.map_structure(repeat, state),
        )

    def decode_step(self, ids, state, memory, candidate_ids=None):
        """The distribution of one more word.

        Args:
            ids: The words before, extended ids, `(B,)`.
            state: The cell's state.
            memory: From `encode`.
            candidate_ids: Optional `(K,)`: only these words get a logit, in
                this order.

        Returns:
            `(distribution, attention, state)`: a `CopyDistribution` with
            `T = 1`, and the attention weights, `(B, S)`.
        """
        with self._weights_of(memory):
            return self._decode_step(ids, state, memory, candidate_ids)

    def _decode_step(self, ids, state, memory, candidate_ids):
        ids = ops.expand_dims(ids, 1)
        held = matches(ids, memory["source_copy_ids"])
        embedding = self.target_embedding(
            generation_ids(ids, self.vocabulary_size)
        )
        inputs = self.cell.project(
            ops.squeeze(embedding, 1),
            ops.cast(ops.squeeze(held, 1), "float32"),
        )
        outputs, state = self.cell.step(inputs, state, memory)
        decoded = decoder_outputs(
            {name: ops.expand_dims(x, 1) for name, x in outputs.items()},
            embedding,
        )
        distribution = self.head(
            self.deep_output(decoded),
            decoded=decoded,
            annotations=memory["annotations"],
            source_mask=memory["source_mask"],
            candidate_ids=candidate_ids,
        )
        return distribution, ops.exp(outputs["attention"]), state

    def _mixed_weights(self):
        """The weights that a step uses in another dtype than their own."""
        parts = (self.target_embedding, self.cell, self.deep_output, self.head)
        return [
            weight
            for part in parts
            for layer in part._flatten_layers()
            if layer.compute_dtype != layer.variable_dtype
            for weight in layer._trainable_variables
        ]

    def _cast_weights(self):
        """Those weights, cast once a search rather than at each step."""
        return {
            f"weight_{i}": ops.cast(weight, self.head.compute_dtype)
            for i, weight in enumerate(self._mixed_weights())
        }

    def _weights_of(self, memory):
        """A scope in which these weights are those of `memory`."""
        scope = keras.StatelessScope()
        for i, weight in enumerate(self._mixed_weights()):
            scope.state_mapping[id(weight)] = memory[f"weight_{i}"]
        return scope

    def get_config(self):
        config = {
            name: keras.saving.serialize_keras_object(getattr(self, name))
            for name in _PARTS
        }
        if self.target_embedding is self.source_embedding:
            config["target_embedding"] = None
        return {
            **config,
            "dropout": self.dropout,
            "seed": self.seed,
            "candidates": self.candidates,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = {
            name: keras.saving.deserialize_keras_object(
                value, custom_objects=custom_objects
            )
            if isinstance(value, dict)
            else value
            for name, value in config.items()
        }
        config["target_embedding"] = (
            config["target_embedding"] or config["source_embedding"]
        )
        return cls(**config)
