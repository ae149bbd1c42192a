"""The distribution over the next token, part generated and part copied.

All heads return a `CopyDistribution`. The functions compute likelihoods of it.

Shapes: B batch, T target steps, S source steps, V target vocabulary.
"""

from typing import Any, NamedTuple

from keras import ops

from tfcopy import tokens
from tfcopy.layers.tensors import (
    MASKED,
    argmax,
    log_softmax_at,
    mean_log_softmax,
)


class CopyDistribution(NamedTuple):
    """Distribution over the next token, split into two parts, in log space.

    `p(generate) + sum_j p(point at j) = 1`. All are float32 except the logits,
    which keep the dtype of the product that made them.

    ```python
    distribution = layers.CopyDistribution(
        generate_logits=np.zeros((2, 3, 9)),
        log_generate=np.full((2, 3), np.log(0.6)),
        copy_log_probs=np.full((2, 3, 4), np.log(0.1)),
    )
    ```

    Attributes:
        generate_logits: `(B, T, V)`, unnormalised; their softmax is the
            distribution of a generated token.
        log_generate: `(B, T)`, `log p(generate)`.
        copy_log_probs: `(B, T, S)`, `log p(point at source position j)`; about
            `MASKED` on padding.
        attention: `(B, T, S)`, the logs of the attention weights, for coverage
            and plots; not part of the distribution.
    """

    generate_logits: Any
    log_generate: Any
    copy_log_probs: Any
    attention: Any = None

    @property
    def vocabulary_size(self):
        """V, or a tensor in a graph whose number of candidates is unknown."""
        logits = self.generate_logits
        return logits.shape[-1] or ops.shape(logits)[-1]

    @property
    def generate_offset(self):
        """Offset `(B, T)` that turns the logits into `log p(generate v)`.

        It is added to `generate_logits[..., v]`. Search uses it; in training,
        one fused operation on the logits computes the loss and its gradient.
        """
        return self.log_generate - log_normalizer(self.generate_logits)


class PlannedDistribution(NamedTuple):
    """`CopyDistribution` with the planner's decisions at the same steps.

    ```python
    planned = layers.PlannedDistribution(
        *layers.SoftmaxHead(9)(features, decoded, annotations, mask),
        replan=np.ones((2, 3)),
        commitment_deviation=np.zeros((2, 3)),
    )
    ```

    Attributes:
        replan: `(B, T)`; 1.0 where it replanned, otherwise 0.0.
        commitment_deviation: `(B, T)`; deviation from uniform of the
            distribution that the commitment plan was drawn from; see
            `plan_attention.deviation`.
    """

    generate_logits: Any
    log_generate: Any
    copy_log_probs: Any
    attention: Any
    replan: Any
    commitment_deviation: Any

    vocabulary_size = CopyDistribution.vocabulary_size
    generate_offset = CopyDistribution.generate_offset


class _LookedUp(CopyDistribution):
    """Distribution with `known`: some ids and their log-softmax."""

    known = None, None


def remove_uncopyable(distribution, source_copy_ids):
    """Moves the probability of uncopyable positions to all other outcomes.

    The result is conditioned on the next token being generated or copied from
    an allowed position. Without an allowed position, it is generated.

    Args:
        distribution: A `CopyDistribution`.
        source_copy_ids: `(B, S)`; negative where a position cannot be copied.
    """
    copyable = ops.expand_dims(source_copy_ids >= 0, 1)
    copied = ops.where(copyable, distribution.copy_log_probs, MASKED)
    generated = ops.expand_dims(distribution.log_generate, -1)
    both = ops.log_softmax(ops.concatenate([generated, copied], -1), axis=-1)
    return distribution._replace(
        log_generate=both[..., 0], copy_log_probs=both[..., 1:]
    )


def generation_ids(ids, vocabulary_size):
    """Maps extended ids to the vocabulary: copied OOV words become UNK."""
    return ops.where(ids >= vocabulary_size, tokens.UNK, ids)


def log_add(x, y):
    """Computes `log(exp(x) + exp(y))`; equal values share the gradient."""
    return ops.logsumexp(ops.stack([x, y], axis=-1), axis=-1)


def log_normalizer(logits):
    """Computes `logsumexp`, `(..., V)` to `(...)`, in float32."""
    return ops.logsumexp(ops.cast(logits, "float32"), axis=-1)


def generate_log_probs(distribution, ids):
    """Computes `log p(generate the token)`; copied OOV words count as UNK.

    Args:
        distribution: A `CopyDistribution`.
        ids: Extended ids, `(B, T)`.

    Returns:
        `(B, T)`.
    """
    known, log_probs = getattr(distribution, "known", (None, None))
    if known is not ids:
        ids = generation_ids(ids, distribution.vocabulary_size)
        log_probs = log_softmax_at(distribution.generate_logits, ids)
    return log_probs + distribution.log_generate


def word_log_probs(distribution, source_copy_ids):
    """Computes `log p(word)` of all words of the vocabulary, `(B, T, V)`.

    A word of the source may be copied as well as generated. OOV words of the
    source are left out.

    Args:
        distribution: A `CopyDistribution`.
        source_copy_ids: `(B, S)`.
    """
    size = distribution.vocabulary_size
    logits = ops.cast(distribution.generate_logits, "float32")
    generated = logits + ops.expand_dims(distribution.generate_offset, -1)
    known = (source_copy_ids >= 0) & (source_copy_ids < size)
    copied = ops.exp(distribution.copy_log_probs)
    copied = ops.where(ops.expand_dims(known, 1), copied, 0.0)
    batch, steps, positions = ops.shape(copied)
    # Flat index of each position's word, over all sentences and steps.
    words = ops.where(known, source_copy_ids, 0)
    rows = ops.reshape(ops.arange(batch * steps), (batch, steps, 1))
    places = rows * size + ops.reshape(words, (batch, 1, positions))
    copied = ops.scatter(
        ops.reshape(places, (-1, 1)),
        ops.reshape(copied, (-1,)),
        (batch * steps * size,),
    )
    copied = ops.reshape(copied, (batch, steps, size))
    # The minimum keeps the gradient of the log finite.
    return log_add(generated, ops.log(ops.maximum(copied, 1e-30)))


def mean_log_probs(distribution, ids, source_copy_ids):
    """Computes the mean of `log p(word)` over all words that can be produced.

    These are the vocabulary without PAD, UNK and BOS. A word of the source may
    be copied as well as generated. The same operation on the logits looks up
    `ids`.

    Args:
        distribution: A `CopyDistribution`.
        ids: Extended ids, `(B, T)`.
        source_copy_ids: `(B, S)`.

    Returns:
        `(mean, distribution)`: `(B, T)`, and a `CopyDistribution` for which
        `generate_log_probs` of the same `ids` costs nothing.
    """
    size = distribution.vocabulary_size
    same, first = same_words(source_copy_ids)
    known = ops.equal(first, ops.arange(ops.shape(first)[1], dtype="int32"))
    known &= (source_copy_ids < size) & (source_copy_ids > tokens.BOS)
    never = ops.convert_to_tensor([tokens.PAD, tokens.UNK, tokens.BOS])
    places = ops.where(known, source_copy_ids, tokens.PAD)
    never = ops.zeros_like(places[:, :1]) + never
    places = ops.expand_dims(ops.concatenate([never, places], axis=1), 1)
    said = ops.expand_dims(generation_ids(ids, size), 2)
    # (B, T, 1 + 3 + S)
    places = ops.concatenate([said, ops.zeros_like(said) + places], axis=2)
    mean, some = mean_log_softmax(distribution.generate_logits, places)
    said, never, generated = some[..., 0], some[..., 1:4], some[..., 4:]
    generated = generated + ops.expand_dims(distribution.log_generate, -1)
    # (B, T, S) x (B, S, S): each word's mass, at its first position.
    copied = ops.matmul(ops.exp(distribution.copy_log_probs), same)
    # The minimum keeps the gradient of the log finite.
    copied = ops.log(ops.maximum(copied, 1e-30))
    gained = ops.where(
        ops.expand_dims(known, 1), log_add(generated, copied) - generated, 0.0
    )
    size = ops.cast(size, "float32")
    total = mean * size - ops.sum(never, -1) + ops.sum(gained, -1)
    looked_up = _LookedUp(*distribution[: len(_LookedUp._fields)])
    looked_up.known = ids, said
    return total / (size - 3) + distribution.log_generate, looked_up


def gather_last(x, indices):
    """Gathers one element of each row of the last axis: `x[..., indices]`."""
    shape = ops.shape(indices)
    columns = ops.reshape(ops.cast(indices, "int32"), (-1,))
    places = ops.stack([ops.arange(ops.size(columns)), columns], axis=-1)

    @ops.custom_gradient
    def function(rows):
        picked = ops.take_along_axis(rows, ops.expand_dims(columns, -1), 1)

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            # Many times faster than the backends' own gradient of a gather.
            return ops.scatter(places, upstream, ops.shape(rows))

        return ops.squeeze(picked, 1), gradient

    return ops.reshape(
        function(ops.reshape(x, (-1, x.shape[-1] or ops.shape(x)[-1]))), shape
    )


def same_words(source_copy_ids):
    """Finds the positions of the source that hold the same word.

    A position that must not be copied equals no other.

    Args:
        source_copy_ids: `(B, S)`.

    Returns:
        `(same, first)`: `(B, S, S)`, 1.0 or 0.0; and `(B, S)`, int32, the first
        position that holds the same word, or the position itself if it must not
        be copied.
    """
    valid = source_copy_ids >= 0
    same = matches(source_copy_ids, source_copy_ids)
    same = ops.cast(same & ops.expand_dims(valid, 1), "float32")
    first = argmax(same)
    positions = ops.arange(ops.shape(source_copy_ids)[1], dtype="int32")
    return same, ops.where(valid, first, positions)


def matches(ids, source_copy_ids):
    """Compares the tokens of target and source, `(B, T, S)`."""
    # `==` would compare the tensors themselves in a `tf.Graph`.
    sources = ops.expand_dims(source_copy_ids, -2)
    return ops.equal(ops.expand_dims(ids, -1), sources)


def copy_log_probs_of(distribution, ids, source_copy_ids):
    """Computes `log p(point at any position that holds the token)`, `(B, T)`.

    It is about `MASKED` where the source does not hold the token.
    """
    masked = ops.where(
        matches(ids, source_copy_ids), distribution.copy_log_probs, MASKED
    )
    return ops.maximum(ops.logsumexp(masked, axis=-1), MASKED)


def marginal_log_likelihood(distribution, ids, source_copy_ids):
    """Computes `log p(token)`, generated or copied from any position.

    A word that can only be copied gets no probability from UNK. A word that is
    in neither the vocabulary nor the source counts as UNK.

    Args:
        distribution: A `CopyDistribution`.
        ids: Extended ids, `(B, T)`.
        source_copy_ids: `(B, S)`.

    Returns:
        `(B, T)`.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 4-6;
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eq. 9.
    """
    generated = generate_log_probs(distribution, ids)
    generated = ops.where(
        ids >= distribution.vocabulary_size, MASKED, generated
    )
    copied = copy_log_probs_of(distribution, ids, source_copy_ids)
    return log_add(generated, copied)


def observed_log_likelihood(distribution, ids, pointers, source_copy_ids):
    """Computes `log p(token, origin)`, given labels of the origin.

    Args:
        distribution: A `CopyDistribution`.
        ids: Extended ids, `(B, T)`; OOV words count as UNK if generated.
        pointers: `(B, T)`: a source position; `tokens.GENERATE`; or
            `tokens.UNMATCHED`, to point where the model's own attention is
            highest.
        source_copy_ids: `(B, S)`; `UNMATCHED` never points at positions where
            it is negative.

    Returns:
        `(B, T)`.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), eq. 8.
    """
    copy_log_probs = distribution.copy_log_probs
    candidates = ops.where(
        ops.expand_dims(source_copy_ids >= 0, 1), copy_log_probs, 2 * MASKED
    )
    # The argmax only chooses the label, and has no gradient.
    highest = argmax(ops.stop_gradient(candidates))
    position = ops.where(
        ops.equal(pointers, tokens.UNMATCHED), highest, ops.maximum(pointers, 0)
    )
    copied = gather_last(copy_log_probs, position)
    generated = generate_log_probs(distribution, ids)
    return ops.where(ops.equal(pointers, tokens.GENERATE), generated, copied)


def copied_mass(distribution):
    """Computes the probability that the next token is copied, `(B, T)`."""
    return ops.sum(ops.exp(distribution.copy_log_probs), axis=-1)


def merge(distribution, source_copy_ids):
    """Computes `log p` of every word of the extended vocabulary.

    It adds up all ways to produce a word. It is for plots and tests; search
    never looks at all words at once.

    Args:
        distribution: A `CopyDistribution`.
        source_copy_ids: `(B, S)`.

    Returns:
        `(B, T, V + S)`.
    """
    logits = ops.cast(distribution.generate_logits, "float32")
    generated = ops.exp(
        logits + ops.expand_dims(distribution.generate_offset, -1)
    )
    size = ops.shape(source_copy_ids)[1]
    words = distribution.vocabulary_size + size
    # A matrix product, since a word may occur at several source positions.
    one_hot = ops.one_hot(source_copy_ids, words, dtype="float32")
    copied = ops.matmul(ops.exp(distribution.copy_log_probs), one_hot)
    generated = ops.pad(generated, ((0, 0), (0, 0), (0, size)))
    return ops.log(ops.maximum(generated + copied, 1e-38))
