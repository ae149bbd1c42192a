"""Updates of the weights from a stream of batches, and their results."""

import collections
import itertools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfcopy.training.training_results import Evaluation


class Update(NamedTuple):
    """Update that was started, with its results once it is finished.

    Attributes:
        number: Number of updates so far, including this one.
        items: The batches of all replicas, as `Item`s.
        num_targets: Number of targets in these batches.
        nll: Sum of the negative log likelihood; a list of tensors until the
            results are read.
        norm: Global norm of the gradients.
        stop: Above zero if a process was asked to stop.
    """

    number: int
    items: list
    num_targets: int
    nll: float
    norm: float
    stop: float

    @property
    def ends_epoch(self):
        """`True` if an epoch ends with one of the update's batches."""
        return any(item.last_of_epoch for item in self.items)


class Updates:
    """Sequence of updates, each from the next batches, and their results.

    On a GPU, results are read one update later, so that the GPU does not wait
    for the host.

    Args:
        train_data: As in `Trainer`.
        step_for: Callable from the spec of a batch to the `TrainStep`.
        replicas: `Replicas`.
        options: `Options`.
    """

    def __init__(self, train_data, step_for, replicas, options):
        self.num_workers = replicas.num_workers
        self._train_data = train_data
        self._step_for = step_for
        self._replicas = replicas
        self._options = options
        self._groups = self._step = None
        self._started = collections.deque()
        self._lag = 1 if tf.config.list_physical_devices("GPU") else 0

    def start(self, state, stop=False):
        """Starts the next update, and counts it in a `State`.

        Args:
            state: The `State` from which to continue. After the first call,
                its position in the stream of batches must not be changed.
            stop: Whether this process was asked to stop.

        Returns:
            The `Update`, or `None` if too few batches are left.
        """
        if self._groups is None:
            self._groups = self._groups_from(state)
        group = next(self._groups, None)
        if group is None:
            return None
        if self._step is None:
            self._step = self._step_for(
                tf.nest.map_structure(tf.type_spec_from_value, group[0].batch)
            )
        step = self._step
        counts = [step.targets.count(item.batch) for item in group]
        num_targets, num_sentences = np.sum(counts, axis=0).tolist()
        by_tokens = self._options.normalize == "tokens"
        divisor = num_targets if by_tokens else num_sentences
        scale = tf.constant(1 / max(divisor, 1), tf.float32)
        nlls = []
        rounds = self._rounds(group, state.update)
        for batches, seeds in rounds[:-1]:
            nlls.append(step.accumulate(batches, scale, seeds))
        batches, seeds = rounds[-1]
        nll, norm, stop = step.update(
            batches, scale, seeds, tf.constant(float(stop))
        )
        nlls.append(nll)
        state.move_behind(group[-1])
        update = Update(state.update, group, num_targets, nlls, norm, stop)
        self._started.append(update)
        return update

    def pop_finished(self, wait=False):
        """Yields finished updates that were not read yet, with their results.

        Args:
            wait: Whether to include updates that may still be running.
        """
        while len(self._started) > (0 if wait else self._lag):
            update = self._started.popleft()
            yield update._replace(
                nll=sum(float(value) for value in update.nll),
                norm=float(update.norm),
                stop=float(update.stop),
            )

    def metrics(self, update):
        """Computes this worker's metrics on the first batch of an update."""
        if not self._step.has_metrics:
            return {}
        totals = self._step.score([update.items[0].batch])
        return Evaluation.from_totals(totals, self.targets.per_example).metrics

    @property
    def targets(self):
        """The `Targets` of the batches; known after the first update."""
        return self._step.targets

    def _groups_from(self, state):
        """Yields the items of each update."""
        replicas, options = self._replicas, self._options
        size = options.accumulate * replicas.count
        items = stream_batches(
            self._train_data,
            state.epoch,
            state.batch,
            replicas.count,
            options.epochs,
        )
        return (group for group in groups_of(items, size) if len(group) == size)

    def _rounds(self, group, update):
        """Splits an update into this worker's batches and their seeds."""
        size = self._replicas.count
        rounds = []
        for start in range(0, len(group), size):
            places = self._replicas.share(range(start, start + size))
            seeds = [
                draw_seeds(
                    self._step.num_seeds, self._options.seed, update, place
                )
                for place in places
            ]
            batches = tuple(group[place].batch for place in places)
            rounds.append((batches, tf.constant(np.stack(seeds))))
        return rounds


class Item(NamedTuple):
    """Batch and its position in the stream of batches.

    Attributes:
        epoch: Number of epochs before its own.
        index: Number of batches of the epoch before it.
        batch: Dict of tensors.
        last_of_epoch: Whether it is the last batch of its epoch.
    """

    epoch: int
    index: int
    batch: Any
    last_of_epoch: bool


def stream_batches(
    train_data, epoch, start_batch, num_replicas, num_epochs=None
):
    """Yields the batches of all epochs, as `Item`s.

    Every worker sees the same stream and takes its share of each update. A
    position thus means the same on all workers, and each knows the number of
    targets of an update without communication. The next batch is fetched during
    training on the current one.

    Args:
        train_data: Callable `(epoch, start_batch, context)` that returns a
            dataset of the batches of an epoch from number `start_batch` on.
            `context` is a `tf.distribute.InputContext` with the number of
            replicas; the callable does not shard.
        epoch: Epoch of the first batch.
        start_batch: Index of the first batch in its epoch.
        num_replicas: Number of replicas over all workers.
        num_epochs: Number of epochs; `None` for an endless stream.
    """
    context = tf.distribute.InputContext(
        num_input_pipelines=1,
        input_pipeline_id=0,
        num_replicas_in_sync=num_replicas,
    )
    index = start_batch
    while num_epochs is None or epoch < num_epochs:
        batches = iter(read_ahead(train_data(epoch, index, context)))
        batch = next(batches, None)
        if batch is None and index == 0:
            raise ValueError(
                f"`train_data` must return at least one batch per epoch. "
                f"Received none for epoch={epoch}."
            )
        while batch is not None:
            following = next(batches, None)
            yield Item(epoch, index, batch, following is None)
            batch, index = following, index + 1
        epoch, index = epoch + 1, 0


def read_ahead(dataset):
    """Returns the dataset with prefetching, and without autotuning.

    On one core, the autotuning thread of tf.data misses its signal to end.
    Dropping an iterator, as after each epoch, would then block until the thread
    wakes up, for up to ten seconds.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.prefetch(2).with_options(options)


def groups_of(items, size):
    """Yields lists of `size` items; the last one may be shorter."""
    iterator = iter(items)
    while group := list(itertools.islice(iterator, size)):
        yield group


def draw_seeds(count, seed, update, batch):
    """Draws the start of each seed generator, for one batch of one update.

    Dropout masks and noise are then a function of `(seed, update, batch)`. A
    resumed run draws the same as one without interruption, and two replicas
    draw the same as one device for the same two batches.

    Args:
        count: Number of seed generators.
        seed: The seed of the run.
        update: Number of updates before this one.
        batch: Index of the batch within the update, over all replicas.

    Returns:
        int64 array of shape `(count,)`.
    """
    sequence = np.random.SeedSequence([seed, update, batch])
    return (sequence.generate_state(count) & 0x7FFFFFFF).astype(np.int64)
