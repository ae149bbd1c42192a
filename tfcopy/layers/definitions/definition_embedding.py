"""Word embeddings computed from definitions and spellings.

Shapes: B batch, T words, E embedding size, L dictionary entries of a word, U
entries with definitions, W words with spellings, K characters, D output size of
a reader, R additional definitions of a request.
"""

import keras
import numpy as np
from keras import ops

from tfcopy.layers.configured import Configured, Initializer, Unmasked
from tfcopy.layers.definitions.combination import WordCombination
from tfcopy.layers.definitions.definition_readers import LSTMReader, MeanReader

READERS = ("mean", "mean_linear", "lstm")


@keras.saving.register_keras_serializable(package="tfcopy")
class DefinitionEmbedding(Configured, Unmasked):
    """Embedding of words, combined with their definitions and spellings.

    The embedding of a word's definitions is the mean over all definitions of
    all of its entries, `sum_l E[slot_l] / max(1, sum_l n[slot_l])`. Here `E` is
    the sum of the reader's vectors for the `n` definitions of an entry. The
    embedding of its spelling is the last state of an LSTM over its characters.
    Either is zero for words without definitions or spelling. `WordCombination`
    combines them with the word's own embedding, a row of a table.

    All texts of a call share the encoded definitions. All operations but the
    products of the readers and of the combination are in float32 with any dtype
    policy. The outputs carry no Keras mask.

    ```python
    definitions = {
        "slots": np.where(ids == 4, 2, 0)[..., None],  # entry 2 defines word 4
        "ids": np.array([4, 5, 6]),  # of two entries
        "owners": np.array([1, 1, 2]),
        "weights": np.array([0.5, 0.5, 1.0], "float32"),
        "counts": np.array([0, 1, 1], "float32"),
    }
    embedding = layers.DefinitionEmbedding(9, 6, reader="mean_linear")
    vectors = embedding(ids, definitions)  # (2, 4, 6)
    ```

    Args:
        vocabulary_size: Positive integer, the rows of the words' table.
        embedding_dim: Positive integer, E.
        reader: The reader of definitions: `"mean"`, `"mean_linear"` or `"lstm"`
            (of E units), a layer such as `LSTMReader`, or `None`.
        definition_vocabulary_size: Rows of a separate table for the words of
            definitions; `None` if they share the text's table.
        spelling: Optional dict of `characters`, the size of their vocabulary;
            `units`, the size of their embeddings and of the `LSTMReader` over
            them; and further arguments of that reader. `None` for no spellings.
        combine: `"sum"`, `"transform"`, `"bands"` or `"replace"`; see
            `WordCombination`.
        stop_gradient: Whether to stop gradients through definitions, except to
            the matrix of `transform`. Weights made here that get no other
            gradient are then not trainable.
        dropout: Dropout rate of each embedding before they are combined.
        embeddings: Optional fixed table of the words, `(vocabulary_size, E)`;
            or only its shape, if a saved table is loaded later.
        definition_embeddings: Fixed table of the words of definitions, or its
            shape, in the same way; its vectors may have any size.
        embeddings_initializer: Initializer of all tables that are trained.
        kernel_initializer: Initializer of the matrices of `transform`, and of
            the readers made here.
        recurrent_initializer: Initializer of the LSTMs made here.
        seed: Optional integer, of the dropout.

    Call arguments:
        ids: `(B, T)`, less than `vocabulary_size`; or a list, tuple or dict
            of such, for several texts.
        definitions: Dict from a `DefinitionPacker`: `slots`, `(B, T, L)`, of
            the structure of `ids`, and the definitions, in the layout of the
            reader. `None` if no word is defined.
        spellings: Dict of `slots`, `(B, T)`, of the structure of `ids`, and
            `ids`, `(W + 1, K)`, the spelling of each slot; slot 0 is for words
            without a spelling. `None` if no word has a spelling.
        rows: Optional pair `(E, n)` from `table`, used instead of the reader.
            `definitions` then needs only the slots, which are numbers of
            entries. May be in float16.
        request: Optional dict of R definitions in addition to `definitions`.
            `matches`, 1.0 or 0.0, `(B, T, R)`, of the structure of `ids`, marks
            the words that each of them defines. `vectors`, `(R, D)`, is the
            reader's output for them (see `read`). The mean of the matching
            definitions replaces the mean of the word's entries.

    Returns:
        `(B, T, E)`, float32, of the structure of `ids`.

    Raises:
        ValueError: If sizes or structures do not match, or if an unused
            argument is passed.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 3.
    """

    layer_arguments = ("reader",)

    def __init__(
        self,
        vocabulary_size: int,
        embedding_dim: int,
        *,
        reader: str | keras.Layer | None = "mean",
        definition_vocabulary_size: int | None = None,
        spelling: dict | None = None,
        combine: str = "sum",
        stop_gradient: bool = False,
        dropout: float = 0.0,
        embeddings: np.ndarray | tuple | None = None,
        definition_embeddings: np.ndarray | tuple | None = None,
        embeddings_initializer: Initializer = "uniform",
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(
            locals(), "reader", "embeddings", "definition_embeddings"
        )
        # Only the shapes: the values may be large, and are saved as weights.
        self.fixed_shapes = {
            "embeddings": _shape(embeddings),
            "definition_embeddings": _shape(definition_embeddings),
        }
        self.word_table = self._make_table(
            "words", (vocabulary_size, embedding_dim), embeddings
        )
        self._make_definitions(reader, definition_embeddings)
        self._make_spelling()
        self.combination = WordCombination(
            combine,
            dropout,
            kernel_initializer=self.kernel_initializer.clone(),
            seed=seed,
            dtype=self.dtype_policy,
            name="combination",
        )

    def _make_definitions(self, reader, embeddings):
        self.reader_name = reader if isinstance(reader, str) else None
        self.reader = reader
        if self.reader_name is not None:
            self.reader = self._make_reader(reader)
            self.reader.trainable = not self.stop_gradient
        self.own_definition_table = None
        rows, size = self.definition_vocabulary_size, self.embedding_dim
        if embeddings is not None:
            fixed_rows, size = _shape(embeddings)
            rows = fixed_rows if rows is None else rows
        if rows is not None:
            self.own_definition_table = self._make_table(
                "definition_words", (rows, size), embeddings
            )
            if self.stop_gradient:
                self.own_definition_table.trainable = False

    def _make_reader(self, name):
        if name not in READERS:
            raise ValueError(
                f"`reader` must be a layer, None or one of {READERS}. "
                f"Received: {name!r}."
            )
        if name == "lstm":
            options = {"units": self.embedding_dim}
            return self._make_lstm("definition_reader", options)
        return MeanReader(
            self.embedding_dim if name == "mean_linear" else None,
            kernel_initializer=self.kernel_initializer.clone(),
            dtype=self.dtype_policy,
            name="definition_reader",
        )

    def _make_spelling(self):
        self.character_table = self.spelling_reader = None
        if self.spelling is not None:
            options = dict(self.spelling)
            shape = (options.pop("characters"), options["units"])
            self.character_table = self._make_table("characters", shape)
            self.spelling_reader = self._make_lstm("spelling_reader", options)

    def _make_lstm(self, name, options):
        initializers = {
            "kernel_initializer": self.kernel_initializer.clone(),
            "recurrent_initializer": self.recurrent_initializer.clone(),
        }
        return LSTMReader(
            **{**initializers, **options}, dtype=self.dtype_policy, name=name
        )

    def _make_table(self, name, shape, fixed=None):
        if fixed is not None and _shape(fixed) != shape:
            raise ValueError(
                f"The table of the {name.replace('_', ' ')} must have the "
                f"shape {shape}. Received: {_shape(fixed)}."
            )
        return keras.layers.Embedding(
            *shape,
            # A copy: an initializer repeats its values.
            embeddings_initializer=self.embeddings_initializer.clone(),
            weights=[fixed] if np.ndim(fixed) == 2 else None,
            trainable=fixed is None,
            dtype="float32",
            name=name,
        )

    @property
    def definition_table(self):
        """The `keras.layers.Embedding` of the words of definitions."""
        return self.own_definition_table or self.word_table

    def build(self, ids_shape=None):
        """Makes all weights, including those that a call does not use."""
        sizes = {}
        readers = {
            "definitions": (self.reader, self.definition_table),
            "spellings": (self.spelling_reader, self.character_table),
        }
        self.word_table.build()
        for name, (reader, table) in readers.items():
            if reader is not None:
                shape = (table.input_dim, table.output_dim)
                for layer, shapes in ((table, ()), (reader, (shape,))):
                    if not layer.built:
                        layer.build(*shapes)
                sizes[name] = (None, None, reader.output_dim(shape[-1]))
        self.combination.build(
            (None, None), (None, None, self.embedding_dim), sizes
        )

    def call(
        self,
        ids,
        definitions=None,
        spellings=None,
        rows=None,
        request=None,
        training=False,
    ):
        texts = keras.tree.flatten(ids)
        sources = {}
        if definitions is not None:
            if rows is None:
                rows = self.read(definitions, training), definitions["counts"]
            sources["definitions"] = self._embed_definitions(
                definitions, rows, request
            )
        if spellings is not None:
            sources["spellings"] = self._embed_spellings(spellings, training)
        for vectors in sources.values():
            _check_structure(vectors, texts)
        outputs = [
            self.combination(
                text,
                self.word_table(text),
                {name: vectors[i] for name, vectors in sources.items()},
                training=training,
            )
            for i, text in enumerate(texts)
        ]
        return keras.tree.pack_sequence_as(ids, outputs)

    def read(self, definitions, training=False):
        """Encodes definitions with the reader.

        Args:
            definitions: Dict from a `DefinitionPacker`.
            training: Whether gradients will be computed.

        Returns:
            `(U + 1, D)`, float32, the sum for each slot; row 0 is zero.
        """
        if self.reader is None:
            raise ValueError(
                "`definitions` are given, but there is no `reader`. Make the "
                "layer with a `reader`, or leave `definitions` out."
            )
        if not self.built:
            self.build()
        table = ops.convert_to_tensor(self.definition_table.embeddings)
        sums = self.reader(table, definitions, training=training)
        return ops.stop_gradient(sums) if self.stop_gradient else sums

    def table(self, packs):
        """Encodes all dictionary entries, for the call argument `rows`.

        Args:
            packs: Iterable of dicts from a `DefinitionPacker`. Their `slots`,
                of any shape, belong to the entries 1, 2 and so on, in order.

        Returns:
            `(E, n)`, arrays of float32, `(entries + 1, D)` and
            `(entries + 1,)`. Row 0, for words without an entry, is zero.
        """
        sums, counts = [], []
        for pack in packs:
            slots = ops.convert_to_numpy(pack["slots"]).reshape(-1)
            if not sums:
                slots = np.concatenate([[0], slots])
            sums.append(ops.convert_to_numpy(self.read(pack))[slots])
            counts.append(ops.convert_to_numpy(pack["counts"])[slots])
        return np.concatenate(sums), np.concatenate(counts)

    def _embed_definitions(self, definitions, rows, request):
        """Computes the embeddings of definitions, `(B, T, D)` for each text."""
        slots = keras.tree.flatten(definitions["slots"])
        vectors = [_mean_of_entries(*rows, x) for x in slots]
        if request is None:
            return vectors
        matches = keras.tree.flatten(request["matches"])
        _check_structure(matches, vectors)
        return [
            _average_matches(x, request["vectors"], y)
            for x, y in zip(matches, vectors)
        ]

    def _embed_spellings(self, spellings, training):
        """Computes the embeddings of spellings, `(B, T, D)` for each text."""
        if self.spelling is None:
            raise ValueError(
                "`spellings` are given, but there is no `spelling`. Make the "
                "layer with a `spelling`, or leave `spellings` out."
            )
        words = ops.arange(ops.shape(spellings["ids"])[0])
        is_word = ops.cast(words > 0, "float32")
        # To the reader, the spelling is the only definition of a word.
        rows = self.spelling_reader(
            ops.convert_to_tensor(self.character_table.embeddings),
            {
                "ids": spellings["ids"],
                "owners": words,
                "weights": is_word,
                "counts": is_word,
            },
            training=training,
        )
        slots = keras.tree.flatten(spellings["slots"])
        return [ops.take(rows, x, axis=0) for x in slots]

    def compute_output_spec(
        self,
        ids,
        definitions=None,
        spellings=None,
        rows=None,
        request=None,
        training=False,
    ):
        return keras.tree.map_structure(
            lambda x: keras.KerasTensor(
                (*x.shape, self.embedding_dim), "float32"
            ),
            ids,
        )

    def get_config(self):
        reader = keras.saving.serialize_keras_object(self.reader)
        return {
            **super().get_config(),
            **self.fixed_shapes,
            "reader": self.reader_name or reader,
            "spelling": self.spelling and dict(self.spelling),
        }


def _shape(fixed):
    """Returns the shape of a table, given its values or its shape."""
    if fixed is None:
        return None
    return tuple(fixed if np.ndim(fixed) == 1 else np.shape(fixed))


def _check_structure(vectors, texts):
    if len(vectors) != len(texts):
        raise ValueError(
            "Definitions and spellings must have `slots` for each of the "
            f"{len(texts)} texts of `ids`. Received: slots of {len(vectors)}."
        )


def _mean_of_entries(sums, counts, slots):
    """Computes means, `(B, T, D)`, from sums, `(U + 1, D)`, and counts."""
    sums, counts = (
        ops.cast(ops.take(x, slots, axis=0), "float32") for x in (sums, counts)
    )
    number = ops.sum(counts, axis=-1, keepdims=True)  # (B, T, 1)
    return ops.sum(sums, axis=2) / ops.maximum(number, 1.0)


def _average_matches(matches, vectors, others):
    """Computes the mean of the vectors that match a word, or else `others`."""
    matches = ops.cast(matches, "float32")
    number = ops.sum(matches, axis=-1, keepdims=True)  # (B, T, 1)
    mean = ops.matmul(matches, ops.cast(vectors, "float32"))
    return ops.where(number > 0, mean / ops.maximum(number, 1.0), others)
