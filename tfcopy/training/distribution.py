"""Where a model trains: one device, all GPUs, or several machines."""

import json
import os

import keras
import tensorflow as tf

PRECISIONS = ("float32", "mixed_bfloat16")


def choose_strategy(devices=None):
    """Returns the strategy under whose scope model and optimizer are built.

    Several machines if the environment has a `TF_CONFIG` with a cluster, else
    one replica on each of the devices if there are several, else TensorFlow's
    default strategy. Call it before anything else touches TensorFlow: the
    cluster has to be set up first.

    Args:
        devices: Optional list of device names, as in `["CPU:0", "CPU:1"]`.
            Defaults to every visible GPU, or the CPU if there is none.
    """
    cluster = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster")
    if cluster:
        # An op that waits for another worker occupies a thread; those that
        # feed it must find a free one.
        threads = max(8, os.cpu_count() or 1)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        return tf.distribute.MultiWorkerMirroredStrategy()
    if devices is None:
        devices = [
            f"GPU:{index}"
            for index, _ in enumerate(tf.config.list_logical_devices("GPU"))
        ]
    if len(devices) > 1:
        return tf.distribute.MirroredStrategy(devices)
    return tf.distribute.get_strategy()


def strategy_of(model):
    """The strategy under whose scope a model, or an optimizer, was built."""
    for variable in model.variables:
        strategy = getattr(variable.value, "distribute_strategy", None)
        if strategy is not None:
            return strategy
    return tf.distribute.get_strategy()


def worker_position(strategy):
    """Returns `(index, number of workers)` of this process."""
    resolver = strategy.cluster_resolver
    if resolver is None or not resolver.cluster_spec().jobs:
        return 0, 1
    spec = resolver.cluster_spec().as_dict()
    chiefs = len(spec.get("chief", []))
    workers = chiefs + len(spec.get("worker", []))
    index = resolver.task_id or 0
    if resolver.task_type == "worker":
        index += chiefs
    return index, max(workers, 1)


class Replicas:
    """The replicas of a strategy, and which of them are in this process.

    Every process has as many replicas as any other.

    Args:
        strategy: `tf.distribute.Strategy`.

    Attributes:
        strategy: The strategy.
        count: Number of replicas over all processes.
        num_workers: Number of processes.
        num_local: Number of replicas of this process.
        is_chief: Whether this process is the first one, which alone writes
            files.
    """

    def __init__(self, strategy):
        self.strategy = strategy
        self.count = strategy.num_replicas_in_sync
        worker, self.num_workers = worker_position(strategy)
        self.num_local = self.count // self.num_workers
        self.is_chief = worker == 0
        self._first = worker * self.num_local

    def share(self, values):
        """This process's part of a list with a value for each replica."""
        return values[self._first : self._first + self.num_local]

    def sum_over_workers(self, values):
        """Adds up an array over the processes; each waits for the others."""
        if self.num_workers == 1:
            return values

        @tf.function(autograph=False)
        def total(values):
            def replica_total(values):
                context = tf.distribute.get_replica_context()
                return context.all_reduce(
                    tf.distribute.ReduceOp.SUM, tf.identity(values)
                )

            results = self.strategy.run(replica_total, args=(values,))
            return self.strategy.experimental_local_results(results)[0]

        # Each of a worker's replicas adds the same values.
        return total(tf.constant(values / self.num_local)).numpy()


def set_precision(precision):
    """Sets the dtype policy of the layers made from now on.

    `mixed_bfloat16` computes in bfloat16 and keeps the weights in float32;
    its exponent is that of float32, so the loss needs no scaling.
    """
    if precision not in PRECISIONS:
        raise ValueError(
            f"`precision` must be one of {PRECISIONS}. "
            f"Received: precision={precision!r}."
        )
    keras.config.set_dtype_policy(precision)
