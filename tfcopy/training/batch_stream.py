"""The batches of one epoch after the other, from any position on."""

import itertools
from typing import Any, NamedTuple

import tensorflow as tf


class Item(NamedTuple):
    """A batch and where it stands.

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
    """Yields the batches of one epoch after the other, as `Item`s.

    Every worker sees the same stream and takes its share of each update, so
    a position means the same on all of them, and the number of targets of an
    update is known without communication. The next batch is fetched while the
    current one is trained on.

    Args:
        train_data: Callable `(epoch, start_batch, context)` that returns a
            dataset of the batches of an epoch from number `start_batch` on.
            `context` is a `tf.distribute.InputContext` that tells the number
            of replicas; the callable does not shard.
        epoch, start_batch: The first batch wanted.
        num_replicas: Number of replicas over all workers.
        num_epochs: Where to stop; `None` for an endless stream.
    """
    context = tf.distribute.InputContext(
        num_input_pipelines=1,
        input_pipeline_id=0,
        num_replicas_in_sync=num_replicas,
    )
    index = start_batch
    while num_epochs is None or epoch < num_epochs:
        dataset = train_data(epoch, index, context)
        batches = iter(read_ahead(dataset))
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
    """The dataset, whose next batches are read while one is computed with.

    It is not tuned by tf.data: on one core the thread that tunes misses that it
    is to end, and whoever drops an iterator, as after each epoch, waits until
    it wakes, for up to ten seconds.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.prefetch(2).with_options(options)


def groups_of(items, size):
    """Yields lists of `size` items; the last one may be shorter."""
    iterator = iter(items)
    while group := list(itertools.islice(iterator, size)):
        yield group
