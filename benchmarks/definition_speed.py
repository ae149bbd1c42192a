"""What reading many definitions costs: training steps, and memory.

    python -m benchmarks.definition_speed

Coattention networks at the paper's sizes take the same batch of 32 questions:
one without definitions (B), and ones that read 10,000 of them, as many as a
batch of SQuAD has where each word is defined, by the mean of their words (D3)
or by an LSTM (D4). Their lengths are those of WordNet's. First each trains in a
process of its own, which prints its peak of memory; then their steps are
timed, now the one first and now the other. The exit status is 1 if a step of D3
takes more than `--limit` times B's, or a process more than `--memory` MiB.
"""

import argparse
import json
import sys

import keras
import numpy as np
import tensorflow as tf

from benchmarks import flags, timing
from tfcopy import losses
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import coattention
from tfcopy.tokens import BOS, EOS, PAD, SPECIAL_TOKENS
from tfcopy.training import Adam

WARM_UP = 2
VOCABULARY = 3_000
FIRST = len(SPECIAL_TOKENS)
READERS = {"B": None, "D3": "mean", "D4": "lstm"}


def main():
    parser = flags.make_parser(
        __doc__,
        ("definitions", 10_000, "of a batch"),
        ("words", 1_430, "distinct words that are defined"),
        ("units", 200, "of all layers"),
        ("batch_size", 32, "questions"),
        ("context_length", 160, "words"),
        ("question_length", 14, "words"),
        ("steps", 8, "batches timed"),
        ("memory", 8_192, "MiB, the most wanted"),
        ("limit", 2.0, "largest D3 / B wanted"),
    )
    parser.add_argument("--system", choices=READERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.system:
        step, batch = make_step(arguments, arguments.system)
        for _ in range(2):
            step(batch)
        print(json.dumps(timing.peak_memory()))
        return 0
    # First, for a process begins with the peak of the one that started it.
    peaks = []
    for name in READERS:
        given = [*sys.argv[1:], "--system", name]
        peaks.append(timing.from_child("definition_speed", *given))
        print(f"{name}: peak {peaks[-1]:,.0f} MiB", flush=True)
    steps, batches = {}, {}
    for name in READERS:
        steps[name], batches[name] = make_step(arguments, name)
    found = timing.race(steps, [batches] * (WARM_UP + arguments.steps), WARM_UP)
    timing.print_times(found)
    ratio = timing.print_ratio(found, "D3", "B", arguments.limit)
    timing.print_ratio(found, "D4", "B")
    return int(ratio > arguments.limit or max(peaks) > arguments.memory)


def make_step(arguments, system):
    """A system's training step, and its batch."""
    keras.utils.set_random_seed(0)
    reader = READERS[system]
    embedding = DefinitionEmbedding(
        VOCABULARY,
        arguments.units,
        reader=reader,
        combine="transform" if reader else "sum",
    )
    model = coattention(embedding, units=arguments.units, seed=0)
    batch = make_batch(arguments, reader)
    step = timing.make_step(
        model,
        losses.span,
        Adam(1e-3),
        timing.specs(batch),
        targets="start",
        clip_norm=50.0,
    )
    return step, batch


def make_batch(arguments, reader):
    """Random words; every word of the texts is defined."""
    rng = np.random.default_rng(0)
    size, words = arguments.batch_size, arguments.words
    batch = {
        "start": rng.integers(0, arguments.context_length // 2, size),
        "end": rng.integers(arguments.context_length // 2, size=size)
        + arguments.context_length // 2,
    }
    for name in ("context", "question"):
        shape = size, getattr(arguments, f"{name}_length")
        batch[f"{name}_ids"] = rng.integers(FIRST, VOCABULARY, shape)
        if reader:
            slots = np.zeros((*shape, 4), int)
            slots[..., 0] = rng.integers(1, words + 1, shape)
            batch[f"{name}_slots"] = slots
    if reader:
        batch |= definitions(arguments, reader, rng)
    return {
        name: tf.constant(x, tf.float32 if x.dtype.kind == "f" else tf.int32)
        for name, x in batch.items()
    }


def definitions(arguments, reader, rng):
    """Definitions as a `DefinitionPacker` gives them."""
    number, words = arguments.definitions, arguments.words
    # WordNet's: 10.8 tokens on average, 98 % have 30 or fewer.
    lengths = np.clip(rng.gamma(3.2, 3.4, number).astype(int), 1, 30)
    owners = np.sort(rng.integers(1, words + 1, number))
    counts = np.bincount(owners, minlength=words + 1).astype(np.float32)
    ids = rng.integers(FIRST, VOCABULARY, (number, 30))
    is_word = np.arange(30) < lengths[:, None]
    if reader == "mean":
        read = {
            "ids": ids[is_word],
            "owners": np.repeat(owners, lengths),
            "weights": np.repeat(1 / lengths, lengths),
        }
    else:
        rows = np.full((number, 32), PAD)
        rows[:, 0] = BOS
        rows[:, 1:31][is_word] = ids[is_word]
        rows[np.arange(number), lengths + 1] = EOS
        read = {"ids": rows, "owners": owners, "weights": np.ones(number)}
    read["counts"] = counts
    return {f"definition_{name}": x for name, x in read.items()}


if __name__ == "__main__":
    sys.exit(main())
