"""The losses: negative log-likelihoods of a `CopyDistribution`.

A loss takes the batch (see `data.pairs.pipeline`) and the model's distribution,
and gives the cost of each target word, `(B, T)`, in nats; `LabelSmoothing`
gives a penalty with it. The caller masks the padding.

Models that read definitions give scores instead. `next_word` has the shape of
the others; `span` and `label` have one cost per example, `(B, 1)`, and need the
trainer's `targets="start"` or `targets="label"`.
"""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.layers import copying
from tfcopy.layers.heads.softmax_head import restrict
from tfcopy.layers.tensors import log_softmax_at


@keras.saving.register_keras_serializable(package="tfcopy")
def generated(batch, distribution):
    """Every word is generated; those outside the vocabulary as UNK.

    The objective of a baseline that cannot copy.
    """
    return -copying.generate_log_probs(distribution, batch["target_ids"])


@keras.saving.register_keras_serializable(package="tfcopy")
def observed(batch, distribution):
    """The labels say which words are pointed at, and where.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), eq. 8.
    """
    return -copying.observed_log_likelihood(
        distribution,
        batch["target_ids"],
        batch["pointers"],
        batch["source_copy_ids"],
    )


@keras.saving.register_keras_serializable(package="tfcopy")
def marginal(batch, distribution):
    """A word may be generated, or copied from any position that holds it.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 4-6.
    """
    return -copying.marginal_log_likelihood(
        distribution, batch["target_ids"], batch["source_copy_ids"]
    )


def restricted(loss, vocabulary_size):
    """A loss that takes batches with `candidate_ids`, `(K,)`, as well.

    Words that are not among them count as UNK, unless they are copied.

    Args:
        loss: One of the above.
        vocabulary_size: V, of the ids of the batch.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 5.1.
    """

    def function(batch, distribution):
        if "candidate_ids" in batch:
            fixed = batch["source_copy_ids"], batch["candidate_ids"]
            renumbered = {
                name: restrict(batch[name], *fixed, vocabulary_size)
                for name in ("target_ids", "source_copy_ids")
            }
            batch = {**batch, **renumbered}
        return loss(batch, distribution)

    return function


def next_word(batch, logits):
    """The words of a text are `target_ids`, `(B, T)`; scores `(B, T, V)`.

    Unknown words have the class UNK, and count like all others.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.3; a batch costs the mean over its texts of their sums.
    """
    return -log_softmax_at(logits, batch["target_ids"])


def span(batch, scores):
    """An answer is the words from `start` to `end`, exclusive, both `(B,)`.

    `-log p(start) - log p(end)` of the scores of a `coattention` model.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.1.
    """
    return sum(
        _label_cost(scores[name], batch[name]) for name in ("start", "end")
    )


def label(batch, logits):
    """The class is `label`, `(B,)`; scores `(B, C)`, as in `esim`.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.2.
    """
    return _label_cost(logits, batch["label"])


def _label_cost(logits, labels):
    """`-log softmax(logits)` at the labels, `(B, 1)`.

    Not fused: it would be compiled for each length of a context.
    """
    log_probs = ops.log_softmax(ops.cast(logits, "float32"))
    return -ops.take_along_axis(log_probs, ops.expand_dims(labels, -1), axis=-1)


def of_head(head):
    """The objective of a head's paper, as a loss.

    Args:
        head: A head, of which `log_likelihood` is used.
    """

    def function(batch, distribution):
        return -head.log_likelihood(batch, distribution)

    return function


def coverage(attention):
    """The cost of attending to the same place again: `sum_j min(a_tj, c_tj)`.

    `c_t` is the sum of the attention of the steps before; the first step
    costs nothing. It works with the attention of any cell and any head.

    Args:
        attention: Logs of the attention weights, `(B, T, S)`, float32.

    Returns:
        `(B, T)`, from 0 to 1.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eq. 12.
    """
    weights = ops.exp(attention)
    before = ops.cumsum(weights, axis=1) - weights
    return ops.sum(ops.minimum(weights, before), axis=-1)


def total(penalties):
    """One penalty for `Trainer` that is the sum of several; `None` of none."""
    if not penalties:
        return None
    return lambda *arguments: sum(x(*arguments) for x in penalties)


class CommitmentPenalty:
    """Keeps a planner's commitment plans from being certain, for `Trainer`.

    `weight / (T_b + 1e-4) sum_i (1/k - p_i)^2` of each target word, where T_b
    is the length of its target and `p` the distribution that the commitment
    plan in force was drawn from. It is a mean over the words, while the loss is
    a sum.

    Args:
        weight: Its weight relative to the loss; 3e-5 in the authors' code.

    Reference:
        [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087), section
        2.3, as in the authors' code.
    """

    def __init__(self, weight=3e-5):
        self.weight = weight

    def __call__(self, batch, distribution):
        mask = ops.cast(batch["target_ids"] != tokens.PAD, "float32")
        lengths = ops.sum(mask, axis=1, keepdims=True)
        deviation = distribution.commitment_deviation * mask
        return self.weight * deviation / (lengths + 1e-4)


class LabelSmoothing:
    """A loss, and what label smoothing adds to it as a penalty.

    With the rate `e` the objective is `(1 - e) loss - e / W sum_w log p(w)`,
    which keeps a head from being certain of any word. The sum is over the W
    words that can be said: the vocabulary, or the words of a batch with
    `candidate_ids`, without PAD, UNK and BOS. `p(w)` adds up all ways to say a
    word, so that copying a word costs no more than generating it.

    Args:
        loss: The loss that is smoothed, one of this module's.
        rate: e, from 0 to 1.

    Reference:
        [Szegedy et al., 2016](https://arxiv.org/abs/1512.00567), section 7.
    """

    def __init__(self, loss, rate):
        self.loss = loss
        self.rate = rate

    def __call__(self, batch, distribution):
        """Returns `(loss, penalty)`, `(B, T)` each."""
        mean, distribution = copying.mean_log_probs(
            distribution, batch["target_ids"], batch["source_copy_ids"]
        )
        cost = self.loss(batch, distribution)
        return cost, self.rate * (-mean - cost)


class GuidedAlignment:
    """Draws the attention to the words that a target word translates.

    `-weight sum_j A_tj log a_tj` of each target word, where `a_t` is the
    attention behind it and `A_t` the batch's `alignment`, `(B, T, S)`, in which
    a word's links share 1. A word without links costs nothing, nor does a batch
    without an `alignment`, such as those of a validation set.

    Args:
        weight: Its weight relative to the loss.

    Reference:
        [Chen et al., 2016](https://arxiv.org/abs/1607.01628), eq. 4 and 5.
    """

    def __init__(self, weight=0.1):
        self.weight = weight

    def __call__(self, batch, distribution):
        if "alignment" not in batch:
            return ops.zeros_like(batch["target_ids"], dtype="float32")
        # Zeros of the alignment stand at padding, whose logs are very low.
        costs = batch["alignment"] * -distribution.attention
        return self.weight * ops.sum(costs, axis=-1)


class CoveragePenalty:
    """`coverage` of a batch, as a penalty for `Trainer`.

    Args:
        weight: Its weight relative to the loss.
        enabled: Optional scalar variable that multiplies it, such as that of a
            `CoverageAttention` that is enabled during training.
    """

    def __init__(self, weight=1.0, enabled=None):
        self.weight = weight
        self.enabled = enabled

    def __call__(self, batch, distribution):
        scale = self.weight
        if self.enabled is not None:
            scale = scale * ops.cast(self.enabled, "float32")
        return scale * coverage(distribution.attention)
