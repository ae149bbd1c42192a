"""Sequence-to-sequence model of any encoder, decoder cell and head.

Shapes: B batch, S source steps, T target steps, V target vocabulary.
"""

import keras
from keras import ops

from tfcopy.keras_internals import get_trained_weights, values_in_scope
from tfcopy.layers.copying import PlannedDistribution, generation_ids, matches
from tfcopy.layers.decoder import Decoder, TeacherForcing, decoder_outputs
from tfcopy.layers.tensors import take
from tfcopy.models.copy_model import CopyModel
from tfcopy.models.definition_inputs import definition_inputs, embed_texts

_PARTS = (
    "source_embedding",
    "encoder",
    "initial_state",
    "target_embedding",
    "cell",
    "deep_output",
    "head",
)


def _dropouts(rate, seed):
    """Makes the dropout layers of source and target embeddings."""
    return [
        keras.layers.Dropout(
            rate,
            seed=None if seed is None else seed + i,
            name=f"{side}_dropout",
        )
        for i, side in enumerate(("source", "target"))
    ]


def _candidate_inputs():
    """Makes the inputs of a model with candidates, by name."""
    dtypes = {"candidate_ids": "int32", "candidate_log_weights": None}
    return {
        name: keras.Input(batch_shape=(None,), dtype=dtype, name=name)
        for name, dtype in dtypes.items()
    }


@keras.saving.register_keras_serializable(package="tfcopy")
class Seq2Seq(CopyModel):
    """Encoder-decoder model that returns a `CopyDistribution`.

    The inputs are a dict of `source_ids` and `source_copy_ids`, both `(B, S)`,
    and `target_ids` `(B, T)` (extended ids, ending with EOS). The model returns
    the distributions of all target tokens at once. Search uses `encode` and
    `decode_step`, which call the same layers.

    `compile(optimizer)` and `fit(dataset)` train it; see `CopyModel`.

    Words of the source, but not of the target, may have definitions and
    spellings. The dict then also holds the `definition_inputs` of a text
    `source`.

    ```python
    model = models.Seq2Seq(
        source_embedding=keras.layers.Embedding(9, 4),
        encoder=layers.BidirectionalGRU(4),
        initial_state=layers.StateReduction(5, parts=1),
        target_embedding=keras.layers.Embedding(9, 4),
        cell=layers.ConditionalGRUCell(5, layers.BahdanauAttention(4)),
        deep_output=layers.DeepOutput(4),
        head=layers.CopyNetHead(9),
    )
    distribution = model(batch)
    ```

    Args:
        source_embedding: Layer from ids `(B, S)` to `(B, S, E)`, or a
            `DefinitionEmbedding`.
        encoder: Layer from `(inputs, mask)` to `(annotations, final)`.
        initial_state: Layer from `(annotations, mask, final)` to the
            decoder's first state `(B, D)`; `None` for a cell that takes `final`
            itself, or no first state.
        target_embedding: Layer from ids `(B, T)` to `(B, T, E)`; it may be the
            `source_embedding` if both sides share a vocabulary. For a
            `DefinitionEmbedding`, only its table of words is used.
        cell: A decoder cell.
        deep_output: Layer from the dict of `decoder_outputs` to features.
        head: Layer from features, that dict, annotations and source mask to
            a `CopyDistribution`; a tied head uses the `target_embedding`.
        dropout: Dropout rate of the embeddings.
        seed: Optional integer, of the dropout.
        candidates: Whether the model has the input `candidate_ids`, `(K,)`, for
            training: only these words then get a logit. See `with_candidates`.
    """

    def __init__(
        self,
        source_embedding: keras.Layer,
        encoder: keras.Layer,
        initial_state: keras.Layer | None,
        target_embedding: keras.Layer,
        cell: keras.Layer,
        deep_output: keras.Layer,
        head: keras.Layer,
        dropout: float = 0.0,
        seed: int | None = None,
        candidates: bool = False,
        **kwargs,
    ):
        # === Layers ===
        if head.tied:
            head.tie(target_embedding)
        decoder = Decoder(cell, dtype=cell.dtype_policy, name="decoder")
        shift = TeacherForcing(head.vocabulary_size, name="teacher_forcing")
        source_dropout, target_dropout = _dropouts(dropout, seed)

        # === Functional Model ===
        sources, vectors, masks = definition_inputs(
            ("source",), source_embedding
        )
        restriction = _candidate_inputs() if candidates else {}
        names = "source_copy_ids", "target_ids"
        ids = {x: keras.Input((None,), dtype="int32", name=x) for x in names}
        inputs = {**sources, **ids, **restriction}
        source_mask = masks["source"]
        embedded = source_dropout(vectors["source"])
        annotations, final = encoder(embedded, source_mask)
        first_state = final
        if initial_state:
            first_state = initial_state(annotations, source_mask, final)
        previous, previous_matches = shift(
            inputs["target_ids"], inputs["source_copy_ids"]
        )
        embeddings = target_dropout(target_embedding(previous))
        decoded = decoder(
            embeddings, annotations, source_mask, previous_matches, first_state
        )
        outputs = head(
            deep_output(decoded),
            decoded=decoded,
            annotations=annotations,
            source_mask=source_mask,
            source_copy_ids=inputs["source_copy_ids"],
            **restriction,
        )
        if "replan" in decoded:
            names = "replan", "commitment_deviation"
            plans = {x: ops.squeeze(decoded[x], -1) for x in names}
            outputs = PlannedDistribution(*outputs, **plans)
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

    def with_candidates(self):
        """Returns a model with the same layers that also takes candidates.

        Train it for the large vocabulary trick, and search with the original
        model, among all words.
        """
        return type(self)(
            **{name: getattr(self, name) for name in _PARTS},
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
        """Names of the additional inputs of `encode`, for definitions."""
        return self._source_inputs

    def encode(self, source_ids, source_copy_ids, **source_inputs):
        """Encodes sources for decoding.

        Args:
            source_ids: `(B, S)`.
            source_copy_ids: `(B, S)`.
            source_inputs: Additional inputs of the model, by name: the
                definitions and spellings of source words.

        Returns:
            `(memory, state)`: a `Memory` for `decode_step`, and the cell's
            state before the first step, without the axis of beams.

        Raises:
            ValueError: If `source_inputs` does not match the model's inputs.
        """
        if set(source_inputs) != set(self.source_inputs):
            raise ValueError(
                "Besides ids, the source embedding needs the inputs "
                f"{sorted(self.source_inputs)}. "
                f"Received: {sorted(source_inputs)}."
            )
        inputs = {"source_ids": source_ids, **source_inputs}
        vectors, masks = embed_texts(("source",), self.source_embedding, inputs)
        mask = masks["source"]
        annotations, final = self.encoder(vectors["source"], mask)
        memory = self.cell.prepare_search(annotations, mask)
        if self.initial_state:
            final = self.initial_state(annotations, mask, final)
        state = self.cell.initial_state(final, memory)
        state = self.cell.search_state(state, memory)
        memory = memory.nest("cell").update(
            sentences={
                "annotations": annotations,
                "source_mask": mask,
                "source_copy_ids": source_copy_ids,
            },
            weights={"layers": self._read_step_variables()},
        )
        return memory, state

    def restrict(self, memory, candidate_ids, log_weights=None):
        """Returns a memory for steps that generate only candidates.

        Args:
            memory: From `encode`.
            candidate_ids: `(C,)`: only these words get a logit, in this order.
            log_weights: Optional `(B, C)`, added to the logits.
        """
        sentences = {}
        if log_weights is not None:
            sentences["log_weights"] = ops.expand_dims(log_weights, 1)
        if self.head.tied:
            # The previous tokens need the whole table.
            return memory.update(sentences, {"candidate_ids": candidate_ids})
        weights = list(memory.weights["layers"])
        places = [id(variable) for variable, _ in self._step_variables()]
        for variable, axis in ((self.head.kernel, 1), (self.head.bias, 0)):
            place = places.index(id(variable))
            weights[place] = take(weights[place], candidate_ids, axis=axis)
        return memory.update(sentences, {"layers": weights})

    def decode_step(self, ids, state, memory):
        """Computes the distribution of the next token.

        Args:
            ids: The previous tokens of K beams, extended ids, `(B, K)`.
            state: The cell's state, tensors `(B, K, ...)`.
            memory: From `encode`.

        Returns:
            `(distribution, attention, state)`: a `CopyDistribution` whose T
            is K, and the attention weights, `(B, K, S)`.
        """
        variables = [variable for variable, _ in self._step_variables()]
        with values_in_scope(variables, memory.weights["layers"]):
            return self._decode_step(ids, state, memory)

    def _decode_step(self, ids, state, memory):
        sources = memory.sentences
        id_matches = matches(ids, sources["source_copy_ids"])
        embedding = self.target_embedding(
            generation_ids(ids, self.vocabulary_size)
        )
        inputs = self.cell.project(embedding, ops.cast(id_matches, "float32"))
        outputs, state = self.cell.step(inputs, state, memory.part("cell"))
        # The beams take the axis of the steps in training.
        decoded = decoder_outputs(outputs, embedding)
        distribution = self.head(
            self.deep_output(decoded),
            decoded=decoded,
            annotations=sources["annotations"],
            source_mask=sources["source_mask"],
            source_copy_ids=sources["source_copy_ids"],
            candidate_ids=memory.weights.get("candidate_ids"),
            candidate_log_weights=sources.get("log_weights"),
        )
        return distribution, ops.exp(outputs["attention"]), state

    def _step_variables(self):
        """Returns the weights of a step's layers, with their compute dtypes."""
        return get_trained_weights(
            (self.target_embedding, self.cell, self.deep_output, self.head)
        )

    def _read_step_variables(self):
        """Reads and casts these weights, once per search, not at each step."""
        return [ops.cast(x, dtype) for x, dtype in self._step_variables()]

    def get_config(self):
        config = {
            name: keras.saving.serialize_keras_object(getattr(self, name))
            for name in _PARTS
        }
        if self.target_embedding is self.source_embedding:
            config["target_embedding"] = None
        names = ("dropout", "seed", "candidates", "name")
        return config | {name: getattr(self, name) for name in names}

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
