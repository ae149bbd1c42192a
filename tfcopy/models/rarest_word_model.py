"""Model for the rarest-word task of the pointer softmax paper.

Shapes: B batch, S source positions, L words of a sequence of the task, D
units, V target vocabulary.
"""

import keras
from keras import ops, tree

from tfcopy import tokens
from tfcopy.layers import PointerSoftmaxHead, SoftmaxHead
from tfcopy.layers.attention.pointing_attention import masked_log_softmax
from tfcopy.layers.configured import Configured, check_choice
from tfcopy.layers.copying import MASKED, CopyDistribution
from tfcopy.layers.encoders.recurrent import WordGRU
from tfcopy.layers.loop import Memory
from tfcopy.layers.tensors import PaddingMask, argmax

FIRST_ID = len(tokens.SPECIAL_TOKENS)
POINTERS = ("dense", "attention")


@keras.saving.register_keras_serializable(package="tfcopy")
class RarestWord(keras.Model):
    """Model that predicts the rarest word from the last state `c` of a GRU.

        hw = act(W_hw c + b);  w = softmax(W_w hw + b)
        hl = act(W_hl c + b);  l = softmax(W_l hl + b), of positions
        d = sigmoid(temperature * MLP([hl ; hw]))
        p(generate word) = d w;  p(point at j) = (1 - d) l_j

    The input is a dict of `source_ids` `(B, S)`, the ids of all words. The
    output is a `CopyDistribution` with `T = 1`. Special tokens are never the
    answer, and have a probability of zero.

    The model reads, and points at, the first `length` words. Shorter sequences
    are padded, although the model is not trained with padding. It never points
    at padding.

    Args:
        num_words: Size of the source vocabulary, without special tokens.
        num_pointed: Number of words, at the end of the vocabulary, that are
            pointed at. All others are generated. With 0 the model is the
            paper's baseline: `w` over all words, without `l` and `d`.
        length: L.
        embedding_dim: Size of the embeddings.
        units: D, of the GRU and of all hidden layers.
        pointer: `"dense"`, as in the paper, with an output for each position;
            or `"attention"`, with the scores `v . tanh(W h_j + U hl + b)`,
            where `h_j` is the state of the GRU at position j.
        activation: Name of the activation of all hidden layers.
        temperature: Inverse temperature of the switch.
        switch_bias: Initial bias of the switch, before the product with the
            temperature; above 0 it favours the shortlist.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section
        5.1. The MLP of the switch is from section 4 (two layers, residual).
    """

    def __init__(
        self,
        num_words=600,
        num_pointed=60,
        length=7,
        *,
        embedding_dim=1000,
        units=1000,
        pointer="dense",
        activation="relu",
        temperature=2.0,
        switch_bias=1.0,
        **kwargs,
    ):
        arguments = dict(locals())
        for name in ("self", "kwargs", "__class__"):
            del arguments[name]
        if not 0 <= num_pointed < num_words:
            raise ValueError(
                f"`num_pointed` must be from 0 to below {num_words}. "
                f"Received: num_pointed={num_pointed}."
            )
        check_choice("pointer", pointer, POINTERS)

        # === Layers ===
        normal = keras.initializers.RandomNormal(stddev=1.0)
        gru = WordGRU(
            FIRST_ID + num_words, embedding_dim, units, normal, name="gru"
        )
        num_generated = num_words - num_pointed
        if num_pointed:
            head = PointerSoftmaxHead(
                num_generated,
                switch_activation=activation,
                switch_bias=switch_bias,
                temperature=temperature,
                pointer="attention" if pointer == "dense" else "separate",
                name="head",
            )
        else:
            head = SoftmaxHead(num_generated, name="head")

        def apply_dense(name):
            return keras.layers.Dense(units, activation, name=name)(final)

        # === Functional Model ===
        source_ids = keras.Input((None,), dtype="int32", name="source_ids")
        ids = FixedLength(length, name="fixed_length")(source_ids)
        mask = PaddingMask(name="mask")(ids)
        states, final = gru(ids, mask)
        final = ops.expand_dims(final, 1)  # (B, 1, D): one target step
        generate_hidden = apply_dense("generate_hidden")
        decoded = {"attention": UniformPointer(name="uniform")(mask)}
        if num_pointed:
            decoded["state"] = apply_dense("point_hidden")
            decoded["context"] = generate_hidden
            if pointer == "dense":
                location = DensePointer(length, name="pointer")
                decoded["attention"] = location(decoded["state"], mask)
        distribution = head(
            generate_hidden,
            decoded=decoded,
            annotations=states,
            source_mask=mask,
        )
        outputs = OfSource(name="of_source")(tuple(distribution), source_ids)
        super().__init__({"source_ids": source_ids}, outputs, **kwargs)

        # === Config ===
        self.source_embedding = gru
        self.head = head
        self._arguments = tuple(arguments)
        for name, value in arguments.items():
            setattr(self, name, value)

    @property
    def vocabulary_size(self):
        """V: the special tokens, and the words that are generated."""
        return FIRST_ID + self.num_words - self.num_pointed

    def encode(self, source_ids, source_copy_ids):
        """Encodes for a search of length 1; see `Seq2Seq.encode`."""
        distribution = self({"source_ids": source_ids})
        parts = dict(zip(CopyDistribution._fields, distribution))
        return Memory(parts, weights={}), ops.zeros_like(source_ids[:, 0])

    def decode_step(self, ids, state, memory):
        """Returns the distribution of the answer; see `Seq2Seq.decode_step`."""
        beams = ids.shape[1]
        parts = tree.map_structure(
            lambda x: ops.repeat(x, beams, axis=1), memory.sentences
        )
        distribution = CopyDistribution(**parts)
        return distribution, ops.exp(distribution.attention), state

    def get_config(self):
        return {x: getattr(self, x) for x in (*self._arguments, "name")}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)


def best_words(distribution, source_ids):
    """Returns the word of the most probable event: generated, or a position.

    The probabilities of all events of a word are not added up.

    Args:
        distribution: `CopyDistribution` of a `RarestWord`.
        source_ids: `(B, S)`.

    Returns:
        `(ids, copied_from)`, both `(B,)`: ids of the source vocabulary; and
        the position that is pointed at, -1 if the word is generated.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 3.
    """
    logits = ops.cast(distribution.generate_logits[:, 0], "float32")
    generated = logits + distribution.generate_offset  # (B, V)
    events = [generated, distribution.copy_log_probs[:, 0]]
    best = argmax(ops.concatenate(events, axis=-1))
    places = best - distribution.vocabulary_size
    pointed = ops.take_along_axis(
        source_ids, ops.expand_dims(ops.maximum(places, 0), 1), axis=1
    )
    ids = ops.where(places < 0, best, ops.squeeze(pointed, 1))
    return ids, ops.maximum(places, tokens.GENERATE)


@keras.saving.register_keras_serializable(package="tfcopy")
class FixedLength(Configured, keras.layers.Layer):
    """Layer that cuts or pads ids, `(B, S)`, to a fixed `(B, length)`."""

    def __init__(self, length, **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def call(self, ids):
        padding = ((0, 0), (0, self.length))
        ids = ops.pad(ids, padding, constant_values=tokens.PAD)
        # `reshape` restores the static size, which a slice loses.
        return ops.reshape(ids[:, : self.length], (-1, self.length))


@keras.saving.register_keras_serializable(package="tfcopy")
class UniformPointer(keras.layers.Layer):
    """Layer that points at all words equally: mask `(B, L)` to `(B, 1, L)`."""

    def call(self, mask):
        bias = ops.expand_dims(ops.where(mask, 0.0, MASKED), 1)
        return masked_log_softmax(ops.zeros_like(bias), bias)


@keras.saving.register_keras_serializable(package="tfcopy")
class DensePointer(Configured, keras.layers.Layer):
    """Layer with a softmax over the positions of a fixed length.

    Args:
        length: L.

    Call arguments:
        hidden: `(B, 1, D)`.
        mask: Boolean, `(B, L)`.

    Returns:
        The logs of the probabilities, `(B, 1, L)`, float32.
    """

    def __init__(self, length, **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        self.scores = keras.layers.Dense(
            length, dtype=self.dtype_policy, name="scores"
        )

    def build(self, hidden_shape, mask_shape=None):
        self.scores.build(hidden_shape)

    def call(self, hidden, mask):
        scores = ops.cast(self.scores(hidden), "float32")
        bias = ops.where(mask, 0.0, MASKED)
        return masked_log_softmax(scores, ops.expand_dims(bias, 1))


@keras.saving.register_keras_serializable(package="tfcopy")
class OfSource(keras.layers.Layer):
    """Layer that extends a distribution to S positions and V words.

    Positions beyond the first L, and special tokens, get a probability of zero.
    The attention is the distribution over positions, in a model that points.
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)

    def call(self, distribution, source_ids):
        logits, log_generate, copied, _ = distribution
        specials = ((0, 0), (0, 0), (FIRST_ID, 0))
        logits = ops.pad(logits, specials, constant_values=MASKED)
        length = copied.shape[-1]
        copied = ops.pad(
            copied, ((0, 0), (0, 0), (0, 1)), constant_values=MASKED
        )
        places = ops.arange(ops.shape(source_ids)[1], dtype="int32")
        copied = ops.take(copied, ops.minimum(places, length), axis=-1)
        attention = ops.log_softmax(copied, axis=-1)
        return CopyDistribution(logits, log_generate, copied, attention)
