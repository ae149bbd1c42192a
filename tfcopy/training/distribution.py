"""Distribution of training: one device, several GPUs, or several machines."""

import contextlib
import os
import re

import tensorflow as tf

from tfcopy.file_formats import parse_json

PRECISIONS = ("float32", "mixed_bfloat16")


def choose_strategy(devices: str | None = None):
    """Returns the strategy in whose scope to build model and optimizer.

    It uses several machines if `TF_CONFIG` in the environment has a cluster,
    and otherwise one replica on each device. For a single device it is
    TensorFlow's default strategy. Call it before any other use of TensorFlow,
    since devices and cluster must be set up first.

    ```python
    with training.choose_strategy("cpu").scope():
        optimizer = training.Adam(1e-3)
    ```

    Args:
        devices: Devices of this machine: `"cpu"`; `"cpu:2"` for two logical
            CPUs, which share the cores; `"gpu"` for all GPUs; `"gpu:0,2"` for
            the GPUs with these numbers. By default all GPUs, or else the CPU.

    Raises:
        ValueError: If such devices do not exist, or if `TF_CONFIG` is not JSON.
        RuntimeError: If TensorFlow already uses other devices.
    """
    num_cpus = _set_devices(devices) if devices else 1
    if _has_cluster():
        # An op that waits for another worker blocks a thread. Ops that feed it
        # need a free one.
        threads = max(8, os.cpu_count() or 1)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        return tf.distribute.MultiWorkerMirroredStrategy()
    num_gpus = len(tf.config.list_logical_devices("GPU"))
    names = [f"GPU:{number}" for number in range(num_gpus)]
    names = names or [f"CPU:{number}" for number in range(num_cpus)]
    if len(names) > 1:
        return tf.distribute.MirroredStrategy(names)
    return tf.distribute.get_strategy()


def _set_devices(devices):
    """Restricts TensorFlow to these devices; returns the number of CPUs."""
    match = re.fullmatch(
        r"(?P<cpu>cpu)(:(?P<count>[1-9]\d?))?|gpu(:(?P<gpus>\d+(,\d+)*))?",
        devices,
    )
    if not match:
        raise ValueError(
            "`devices` must be cpu, cpu:N (N logical CPUs), gpu, or gpu:I,J "
            f"(numbers of GPUs). Received: devices={devices!r}."
        )
    gpus = tf.config.list_physical_devices("GPU")
    count, numbers = int(match["count"] or 1), range(len(gpus))
    if match["cpu"]:
        numbers = []
    elif match["gpus"]:
        numbers = sorted(set(map(int, match["gpus"].split(","))))
    if not match["cpu"] and not (numbers and numbers[-1] < len(gpus)):
        raise ValueError(
            f"`devices` must exist: TensorFlow finds {len(gpus)} GPUs here. "
            f"Received: devices={devices!r}."
        )
    (cpu, *_) = tf.config.list_physical_devices("CPU")
    try:
        if len(numbers) < len(gpus):
            tf.config.set_visible_devices([gpus[i] for i in numbers], "GPU")
        if count > 1:
            tf.config.set_logical_device_configuration(
                cpu, [tf.config.LogicalDeviceConfiguration()] * count
            )
    except RuntimeError as error:
        raise RuntimeError(
            "`devices` must be chosen before TensorFlow has started. "
            f"Received: devices={devices!r}."
        ) from error
    return count


def _has_cluster():
    text = os.environ.get("TF_CONFIG") or "{}"
    try:
        return bool(parse_json(text).get("cluster"))
    except (AttributeError, ValueError) as error:
        raise ValueError(
            "The environment variable TF_CONFIG must be a JSON object with "
            f'"cluster" and "task". Received: {text!r}.'
        ) from error


def strategy_of(model):
    """Returns the strategy in whose scope a model or optimizer was built.

    ```python
    with training.strategy_of(model).scope():
        optimizer = training.Adam(1e-3)
    ```
    """
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
    index = resolver.task_id or 0
    if resolver.task_type == "worker":
        index += chiefs
    return index, max(chiefs + len(spec.get("worker", [])), 1)


class Replicas:
    """Replicas of a strategy, and those of this process.

    All processes have the same number of replicas.

    Args:
        strategy: `tf.distribute.Strategy`.

    Attributes:
        strategy: The strategy.
        count: Number of replicas over all processes.
        num_workers: Number of processes.
        num_local: Number of replicas of this process.
        is_chief: Whether this process is the first one. Only the first one
            writes files.
    """

    def __init__(self, strategy):
        self.strategy = strategy
        self.count = strategy.num_replicas_in_sync
        worker, self.num_workers = worker_position(strategy)
        self.num_local = self.count // self.num_workers
        self.is_chief = worker == 0
        self._first = worker * self.num_local

    def share(self, values):
        """Returns this process's part of a list with a value per replica."""
        return values[self._first : self._first + self.num_local]

    @contextlib.contextmanager
    def others_needed(self, advice):
        """Returns a context that detects errors caused by a lost worker.

        Args:
            advice: Function that returns a sentence about the last checkpoint.

        Raises:
            RuntimeError: If a worker is lost; the message names it.
        """
        try:
            yield
        except tf.errors.OpError as error:
            reason = str(error)
            if self.num_workers == 1 or "Collective ops" not in reason:
                raise
            task = re.search(r"/task:(\d+)", reason)
            who = f"Worker {task[1]}" if task else "Another worker"
            raise RuntimeError(
                f"{who} has ended or cannot be reached. {advice()} Start all "
                "workers again to resume."
            ) from error

    def sum_over_workers(self, values):
        """Sums an array over the processes, which wait for each other."""
        if self.num_workers == 1:
            return values

        @tf.function(autograph=False)
        def total(values):
            def replica_total(values):
                return tf.distribute.get_replica_context().all_reduce(
                    tf.distribute.ReduceOp.SUM, tf.identity(values)
                )

            results = self.strategy.run(replica_total, args=(values,))
            return self.strategy.experimental_local_results(results)[0]

        # All replicas of a worker add the same values.
        return total(tf.constant(values / self.num_local)).numpy()
