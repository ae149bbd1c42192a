"""What the large vocabulary trick saves of a training step.

    python -m benchmarks.large_vocabulary_speed
    python -m benchmarks.large_vocabulary_speed --units 1024 --embedding_dim 512

The same model takes the same batches with all words in its output layer, and
with the candidates of each batch alone, now the one first and now the other.
Lengths and sizes are those of headlines (Gulcehre et al., 2016): sources of 30
words, targets of 10, embeddings of 100, GRUs of 200; words are drawn as often
as Zipf's law says. The exit status is 1 if the median of the ratios of the
two times is below `--limit`.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

from benchmarks import flags, timing
from tfcopy import losses, tokens
from tfcopy.data.pairs.sampled_vocabulary import add_candidates
from tfcopy.models import translator
from tfcopy.training import Adam

WARM_UP = 5


def main():
    arguments = flags.parse(
        __doc__,
        ("words", 30_000, "of the target vocabulary"),
        ("candidates", 2_000, "words of a batch's output layer"),
        ("batch_size", 64, "pairs"),
        ("source_length", 30, "words"),
        ("target_length", 10, "words"),
        ("embedding_dim", 100, "and width below the output layer"),
        ("units", 200, "of the GRUs"),
        ("steps", 40, "batches timed"),
        ("candidates_from", ("sample", "sources", "batch"), "where they are"),
        ("head", "pointer_softmax", "of the model"),
        ("limit", 2.0, "smallest ratio wanted"),
    )
    return report(measure(arguments), arguments.limit)


def measure(arguments):
    """Seconds of the steps: a dict of `all` and `candidates`."""
    keras.utils.set_random_seed(0)
    model = translator(
        arguments.words,
        arguments.words,
        head=arguments.head,
        embedding_dim=arguments.embedding_dim,
        units=arguments.units,
    )
    loss = losses.of_head(model.head)
    whole = batches(arguments)
    few = add_candidates(
        whole, arguments.words, arguments.candidates, arguments.candidates_from
    )
    steps = {
        "all": make_step(model, loss, whole),
        "candidates": make_step(
            model.with_candidates(),
            losses.restrict_loss(loss, arguments.words),
            few,
        ),
    }
    given = (dict(zip(steps, pair)) for pair in zip(whole, few))
    return timing.race(steps, given, WARM_UP)


def batches(arguments):
    """Dataset of random batches."""
    rng = np.random.default_rng(0)
    special = len(tokens.SPECIAL_TOKENS)
    frequency = np.cumsum(1.0 / np.arange(1, arguments.words - special + 1))
    frequency /= frequency[-1]

    def words(length):
        drawn = rng.random((arguments.batch_size, length))
        ids = special + np.searchsorted(frequency, drawn)
        return np.minimum(ids, arguments.words - 1).astype("int32")

    def batch():
        source, target = (
            words(length)
            for length in (arguments.source_length, arguments.target_length)
        )
        pointers = np.full(target.shape, tokens.GENERATE, "int32")
        pointers[:, 0] = rng.integers(0, source.shape[1], len(pointers))
        return {
            "source_ids": source,
            "source_copy_ids": source,
            "target_ids": target,
            "pointers": pointers,
        }

    arrays = [batch() for _ in range(WARM_UP + arguments.steps)]
    stacked = {name: np.stack([a[name] for a in arrays]) for name in arrays[0]}
    return tf.data.Dataset.from_tensor_slices(stacked).prefetch(2)


def make_step(model, loss, dataset):
    """One update: a batch to its loss."""
    return timing.make_step(
        model, loss, Adam(1e-3), dataset.element_spec, clip_norm=1.0
    )


def report(seconds, limit):
    """Prints medians and the ratio; returns the exit status."""
    timing.print_times(seconds)
    return int(timing.print_ratio(seconds, "all", "candidates") < limit)


if __name__ == "__main__":
    sys.exit(main())
