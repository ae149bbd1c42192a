"""What a word costs: negative log-likelihoods of a `CopyDistribution`.

A loss takes the batch (see `data.pipeline`) and the model's distribution, and
gives the cost of each target word, `(B, T)`, in nats. Padding is masked by
whoever adds up.
"""

from tfcopy.layers import copying


def generated(batch, distribution):
    """Every word is generated; those outside the vocabulary as UNK.

    The objective of a baseline that cannot copy.
    """
    return -copying.generate_log_probs(distribution, batch["target_ids"])


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


def marginal(batch, distribution):
    """A word may be generated or copied from wherever it stands.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 4-6.
    """
    return -copying.marginal_log_likelihood(
        distribution, batch["target_ids"], batch["source_copy_ids"]
    )
