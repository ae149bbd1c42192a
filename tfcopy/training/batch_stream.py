"""Batches of one epoch after the other, from any position on."""

import collections

import tensorflow as tf

Item = collections.namedtuple("Item", "epoch index batch last_of_epoch")


class BatchStream:
    """Iterates over `(epoch, index, batch)` from a given position.

    Every worker sees the same stream and takes its share of each update, so
    a position means the same on all of them, and the number of targets of an
    update is known without asking anyone. The next batch is fetched
    while the current one is trained on.

    Args:
        data: Callable `(epoch, start_batch, context)` that returns a dataset
            of the batches of an epoch from number `start_batch` on. `context`
            is a `tf.distribute.InputContext` that tells the number of
            replicas; the callable does not shard.
        epoch, start_batch: The first batch wanted.
        num_replicas: Over all workers.
        num_epochs: Where to stop; `None` for an endless stream.
    """

    def __init__(self, data, epoch, start_batch, num_replicas, num_epochs=None):
        self._data = data
        self._position = epoch, start_batch
        self._num_epochs = num_epochs
        self._context = tf.distribute.InputContext(
            num_input_pipelines=1,
            input_pipeline_id=0,
            num_replicas_in_sync=num_replicas,
        )
        self.element_spec = None
        self.batches_per_epoch = None

    def open(self, epoch, start_batch):
        dataset = self._data(epoch, start_batch, self._context)
        self.element_spec = dataset.element_spec
        cardinality = int(dataset.cardinality())
        if cardinality >= 0:
            self.batches_per_epoch = start_batch + cardinality
        return dataset.prefetch(tf.data.AUTOTUNE)

    def __iter__(self):
        epoch, index = self._position
        while self._num_epochs is None or epoch < self._num_epochs:
            start = index
            batches = iter(self.open(epoch, start))
            batch = next(batches, None)
            if batch is None and start == 0:
                raise ValueError(
                    f"`train_data` must return at least one batch an epoch. "
                    f"Received none for epoch={epoch}."
                )
            while batch is not None:
                following = next(batches, None)
                yield Item(epoch, index, batch, following is None)
                batch, index = following, index + 1
            self.batches_per_epoch = index
            epoch, index = epoch + 1, 0
