"""Times of training steps, taken in turn so that the machine treats all alike.

Not a benchmark itself: those that compare steps use it.
"""

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import time

import numpy as np
import tensorflow as tf

from tfcopy import tokens
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.training import Trainer


def limit_threads(threads):
    """Lets TensorFlow use so many; before anything else is computed."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def resident_kib():
    """Returns the current memory of the process, KiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def peak_memory():
    """Returns the largest memory of the process so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def matrix_rate(seconds=2.0, shape=(1088, 512, 10_000)):
    """Returns the best float32 rate of an (M, K) x (K, N) product."""
    m, k, n = shape
    a, b = tf.random.normal((m, k)), tf.random.normal((k, n))
    best, end = 1e9, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        tf.matmul(a, b)[0, 0].numpy()
        best = min(best, time.perf_counter() - start)
    return 2 * m * k * n / best


def random_batch(rng, batch_size, sizes, lengths):
    """A batch of random words, none of them special and none of them copied.

    Args:
        rng: NumPy's generator.
        batch_size: Sentences.
        sizes: Of the vocabularies of source and target.
        lengths: Of all sources, and of all targets.
    """
    source, target = (
        rng.integers(len(tokens.SPECIAL_TOKENS), size, (batch_size, length))
        for size, length in zip(sizes, lengths)
    )
    return {
        "source_ids": tf.constant(source, tf.int32),
        "source_copy_ids": tf.fill(source.shape, -1),
        "target_ids": tf.constant(target, tf.int32),
        "pointers": tf.fill(target.shape, -1),
    }


def make_step(model, loss, optimizer, element_spec, **options):
    """One update, through the true train step.

    Args:
        model: Of `Trainer`.
        loss: As of `Trainer`.
        optimizer: The same.
        element_spec: Of the batches.
        options: More arguments of `Trainer`.

    Returns:
        Function of a batch, which gives its loss and waits for the device.
    """
    trainer = Trainer(
        model,
        loss,
        optimizer,
        lambda epoch, start, context: None,
        steps=1,
        verbose=False,
        **options,
    )
    update = trainer.step_for(element_spec).update
    targets = trainer.options.targets
    seeds = tf.zeros((1, len(trainer.seed_states)), tf.int64)

    def step(batch):
        scale = tf.constant(1.0 / len(batch[targets]))
        nll, norm, _ = update((batch,), scale, seeds, tf.constant(0.0))
        return float(nll + norm)

    return step


def epochs_of(config, data):
    """Training batches of a recipe's data.

    Returns:
        Function of an epoch's number, which gives the dataset of its batches.
    """
    from tfcopy.experiments import training_choices
    from tfcopy.experiments.config import from_flags
    from tfcopy.experiments.pairs import pair_training

    context = tf.distribute.InputContext(num_replicas_in_sync=1)
    batching = from_flags(training_choices.Batching, config)
    batches = pair_training.train_batches(batching, data.train)
    return lambda epoch: batches(epoch, 0, context)


def seconds_of(function, number):
    """Seconds of so many calls, after one that is not timed."""
    function()
    seconds = []
    for _ in range(number):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return np.array(seconds)


def specs(batch):
    """The element spec of batches like this one."""
    return {name: tf.TensorSpec(x.shape, x.dtype) for name, x in batch.items()}


def make_search(model, num_beams, length, **options):
    """A beam search that goes on to the last step.

    Args:
        model: A `Seq2Seq`.
        num_beams: Of the search.
        length: Of all answers.
        options: More of `SearchOptions`.

    Returns:
        Function of a batch, which gives the sum of the scores.
    """
    options = SearchOptions(
        num_beams=num_beams, max_length=length, min_length=length - 1, **options
    )
    search = tf.function(
        lambda *ids: beam_search(model, *ids, options).scores, autograph=False
    )
    return lambda batch: float(
        tf.reduce_sum(search(batch["source_ids"], batch["source_copy_ids"]))
    )


def race(steps, batches, warm_up):
    """Seconds of several steps on the same batches, now one first, now another.

    Args:
        steps: Name to a function of a batch.
        batches: Iterable of dicts from a name to its batch, or of batches that
            all take.
        warm_up: How many batches are not timed.

    Returns:
        Name to an array of seconds.
    """
    seconds = {name: [] for name in steps}
    for number, given in enumerate(batches):
        for name in list(steps)[:: 1 if number % 2 else -1]:
            batch = given.get(name, given)
            start = time.perf_counter()
            found = steps[name](batch)
            seconds[name].append(time.perf_counter() - start)
            if not np.isfinite(found):
                raise FloatingPointError(f"{name}: the loss is {found}.")
    return {name: np.array(x[warm_up:]) for name, x in seconds.items()}


def print_times(seconds):
    """Median and quartiles of each, in milliseconds."""
    for name, values in seconds.items():
        low, median, high = np.percentile(1000 * values, [25, 50, 75])
        print(
            f"{name}: {median:.1f} ms (quartiles {low:.1f} and {high:.1f}, "
            f"{len(values):,} times)"
        )


def print_ratio(seconds, one, other, limit=None):
    """Prints the ratio of the two times of a batch; returns its median."""
    ratios = seconds[one] / seconds[other]
    low, median, high = np.percentile(ratios, [25, 50, 75])
    verdict = ""
    if limit is not None:
        verdict = ", within " if median <= limit else ", above "
        verdict += f"{limit:g}"
    print(
        f"{one} / {other}: {median:.3f} (quartiles {low:.3f} and {high:.3f})"
        f"{verdict}"
    )
    return median


def from_child(module, *flags):
    """The JSON that a benchmark prints last, in a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, flags)]
    child = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(child.stdout.splitlines()[-1])


def free_ports(count):
    """Numbers of ports of this machine that nothing listens on, all other."""
    with contextlib.ExitStack() as stack:
        return [
            stack.enter_context(
                socket.create_server(("localhost", 0))
            ).getsockname()[1]
            for _ in range(count)
        ]
