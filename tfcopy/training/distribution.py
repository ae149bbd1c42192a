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
    """Returns the strategy under whose scope a built model was made."""
    for variable in model.weights:
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
