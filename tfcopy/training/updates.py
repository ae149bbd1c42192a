"""Updates of the weights, one after the other, and their results."""

import collections
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfcopy.training.batch_stream import groups_of, stream_batches
from tfcopy.training.seeds import draw_seeds
from tfcopy.training.training_results import Evaluation


class Update(NamedTuple):
    """An update that was started; its results once it is finished.

    Attributes:
        number: Number of updates made, including this one.
        items: The batches of all replicas, as `Item`s.
        num_targets: Number of their targets.
        nll: Sum of the negative log likelihood; before it is read, tensors to
            add up.
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
        """Whether an epoch ends with one of its batches."""
        return any(item.last_of_epoch for item in self.items)


class Updates:
    """Starts updates, each from the next batches, and reads their results.

    If there is a GPU, results are read one update later, so that it need not
    wait for the host.

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
        """Starts the next update and moves a `State` behind it.

        Args:
            state: Where to continue. After the first call the batches follow
                one another, so its position must not be changed.
            stop: Whether this process was asked to stop.

        Returns:
            The `Update`, or `None` if too few batches are left for one.
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

    def finished(self, wait=False):
        """Yields the updates whose results were not read yet, as numbers.

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
        """The metrics of this worker on the first batch of an update."""
        if not self._step.has_metrics:
            return {}
        totals = self._step.score([update.items[0].batch])
        return Evaluation.of(totals, self.targets.per_example).metrics

    @property
    def targets(self):
        """`Targets` of the batches; there are none before the first one."""
        return self._step.targets

    def _groups_from(self, state):
        """The items of one update after the other."""
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
