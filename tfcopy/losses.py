"""Losses, the negative log-likelihoods of a `CopyDistribution`, and penalties.

A loss takes the batch (see `data.pairs.pipeline`) and the model's distribution,
and returns the cost of each target token, `(B, T)`, in nats; `LabelSmoothing`
also returns a penalty. The caller masks the padding.

Models that read definitions return scores instead of a distribution. The cost
of `next_word` has the shape `(B, T)`, too. `span` and `label` return one cost
per example, `(B, 1)`, and need the trainer's `targets="start"` or
`targets="label"`.

Examples of the losses continue this one:

```python
import numpy as np
from tfcopy import layers, losses

batch = {
    "target_ids": np.array([[9, 5, 3]], "int32"),  # V = 9: copied
    "source_copy_ids": np.array([[9, 4, -1]], "int32"),
    "pointers": np.array([[0, -1, -1]], "int32"),
}
distribution = layers.CopyDistribution(
    generate_logits=np.zeros((1, 3, 9), "float32"),
    log_generate=np.full((1, 3), np.log(0.4), "float32"),
    copy_log_probs=np.full((1, 3, 3), np.log(0.2), "float32"),
    attention=np.full((1, 3, 3), np.log(1 / 3), "float32"),
)
```
"""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.layers import copying
from tfcopy.layers.heads.softmax_head import restrict
from tfcopy.layers.tensors import log_softmax_at


@keras.saving.register_keras_serializable(package="tfcopy")
def generation_loss(batch, distribution):
    """Computes the loss if every token is generated, OOV words as UNK.

    This is the objective of a baseline that cannot copy.

    ```python
    costs = losses.generation_loss(batch, distribution)  # (1, 3)
    ```
    """
    return -copying.generate_log_probs(distribution, batch["target_ids"])


@keras.saving.register_keras_serializable(package="tfcopy")
def observed_copy_loss(batch, distribution):
    """Computes the loss if labels mark the copied tokens and their positions.

    ```python
    costs = losses.observed_copy_loss(batch, distribution)  # (1, 3)
    ```

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), eq. 8.
    """
    labels = batch["target_ids"], batch["pointers"]
    return -copying.observed_log_likelihood(
        distribution, *labels, batch["source_copy_ids"]
    )


@keras.saving.register_keras_serializable(package="tfcopy")
def marginal_copy_loss(batch, distribution):
    """Computes the loss summed over all ways to produce each token.

    A token may be generated, or copied from any position that holds it.

    ```python
    costs = losses.marginal_copy_loss(batch, distribution)  # (1, 3)
    ```

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 4-6.
    """
    return -copying.marginal_log_likelihood(
        distribution, batch["target_ids"], batch["source_copy_ids"]
    )


def restrict_loss(loss, vocabulary_size):
    """Returns a loss that accepts batches with `candidate_ids`, `(K,)`, too.

    Words that are not candidates count as UNK, unless they are copied.

    ```python
    loss = losses.restrict_loss(losses.marginal_copy_loss, vocabulary_size=9)
    costs = loss(batch, distribution)  # (1, 3)
    ```

    Args:
        loss: `generation_loss`, `observed_copy_loss` or
            `marginal_copy_loss`.
        vocabulary_size: V, the size of the vocabulary of the batch's ids.

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
    """Computes the loss of a language model, from logits `(B, T, V)`.

    The labels are `target_ids`, `(B, T)`. Unknown words have the class UNK, and
    count like all others.

    ```python
    costs = losses.next_word(batch, np.zeros((1, 3, 12)))  # (1, 3)
    ```

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.3; the cost of a batch is the mean over its texts of their sums.
    """
    return -log_softmax_at(logits, batch["target_ids"])


def span(batch, scores):
    """Computes the loss of a span of text, the answer to a question.

    It is `-log p(start) - log p(end)` for the scores of a `coattention` model.
    The span goes from `start` to `end`, exclusive, both `(B,)`.

    ```python
    answers = {"start": np.array([0]), "end": np.array([2])}
    scores = {"start": np.zeros((1, 4)), "end": np.zeros((1, 4))}
    cost = losses.span(answers, scores)  # (1, 1)
    ```

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.1.
    """
    return sum(
        _label_cost(scores[name], batch[name]) for name in ("start", "end")
    )


def label(batch, logits):
    """Computes the loss of a classifier, such as `esim`, from logits `(B, C)`.

    The class is `label`, `(B,)`.

    ```python
    cost = losses.label({"label": np.array([2])}, np.zeros((1, 3)))  # (1, 1)
    ```

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.2.
    """
    return _label_cost(logits, batch["label"])


def _label_cost(logits, labels):
    """Computes `-log softmax(logits)` at the labels, `(B, 1)`.

    `log_softmax_at` is not used: it compiles for each length of a context.
    """
    log_probs = ops.log_softmax(ops.cast(logits, "float32"))
    return -ops.take_along_axis(log_probs, ops.expand_dims(labels, -1), axis=-1)


def of_head(head):
    """Returns the objective of a head's paper, as a loss.

    ```python
    loss = losses.of_head(layers.PointerGeneratorHead(9))
    costs = loss(batch, distribution)  # (1, 3)
    ```

    Args:
        head: A head; the loss is its negative `log_likelihood`.
    """

    def function(batch, distribution):
        return -head.log_likelihood(batch, distribution)

    return function


def coverage(attention):
    """Computes the cost of repeated attention: `sum_j min(a_tj, c_tj)`.

    `c_t` is the sum of the attention weights of all earlier steps; the first
    step costs nothing. The attention may come from any cell and any head.

    ```python
    costs = losses.coverage(distribution.attention)  # (1, 3)
    ```

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
    """Returns the sum of penalties as one for `Trainer`, or `None` for none.

    ```python
    penalty = losses.total(
        [losses.CoveragePenalty(), losses.GuidedAlignment()]
    )
    costs = penalty(batch, distribution)  # (1, 3)
    ```
    """
    if not penalties:
        return None
    return lambda *arguments: sum(x(*arguments) for x in penalties)


class CommitmentPenalty:
    """Penalty on certain commitment plans of a planner, for `Trainer`.

    For each target token it is `weight / (T_b + 1e-4) sum_i (1/k - p_i)^2`. T_b
    is the length of its target, and `p` is the distribution that the current
    commitment plan was drawn from. The penalty is thus a mean over the tokens,
    while the loss is a sum.

    ```python
    planned = layers.PlannedDistribution(
        *distribution,
        replan=np.ones((1, 3)),
        commitment_deviation=np.full((1, 3), 0.2, "float32"),
    )
    costs = losses.CommitmentPenalty()(batch, planned)  # (1, 3)
    ```

    Args:
        weight: Weight relative to the loss; 3e-5 in the authors' code.

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
    """Loss with label smoothing, which is returned as a separate penalty.

    With the rate `e` the objective is `(1 - e) loss - e / W sum_w log p(w)`,
    which keeps a head from being certain of any word. The sum is over the W
    words that can be produced: the vocabulary, or the candidates of a batch
    with `candidate_ids`, without PAD, UNK and BOS. `p(w)` adds up all ways to
    produce a word, so that copying a word costs no more than generating it.

    ```python
    loss = losses.LabelSmoothing(losses.marginal_copy_loss, rate=0.1)
    costs, penalty = loss(batch, distribution)  # (1, 3) each
    ```

    Args:
        loss: The loss to smooth, a function of this module.
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
    """Penalty that trains the attention towards given word alignments.

    For each target token it is `-weight sum_j A_tj log a_tj`. `a_t` is the
    attention at its step, and `A_t` comes from the batch's `alignment`,
    `(B, T, S)`, in which the links of a token sum to 1. A token without links
    costs nothing. A batch without an `alignment`, for instance of a validation
    set, costs nothing either.

    ```python
    links = np.full((1, 3, 3), 1 / 3, "float32")
    penalty = losses.GuidedAlignment()
    costs = penalty({**batch, "alignment": links}, distribution)  # (1, 3)
    ```

    Args:
        weight: Weight relative to the loss.

    Reference:
        [Chen et al., 2016](https://arxiv.org/abs/1607.01628), eq. 4 and 5.
    """

    def __init__(self, weight=0.1):
        self.weight = weight

    def __call__(self, batch, distribution):
        if "alignment" not in batch:
            return ops.zeros_like(batch["target_ids"], dtype="float32")
        # At padding the alignment is zero, and the logs are very low.
        costs = batch["alignment"] * -distribution.attention
        return self.weight * ops.sum(costs, axis=-1)


class CoveragePenalty:
    """Penalty on repeated attention, for `Trainer`; see `coverage`.

    ```python
    costs = losses.CoveragePenalty()(batch, distribution)  # (1, 3)
    ```

    Args:
        weight: Weight relative to the loss.
        enabled: Optional scalar variable, a factor of the penalty, such as
            `enabled` of a `CoverageAttention` that is enabled during training.
    """

    def __init__(self, weight=1.0, enabled=None):
        self.weight = weight
        self.enabled = enabled

    def __call__(self, batch, distribution):
        scale = self.weight
        if self.enabled is not None:
            scale = scale * ops.cast(self.enabled, "float32")
        return scale * coverage(distribution.attention)
