"""What is said while XLA compiles."""

import logging

import tensorflow as tf

from tfcopy.training.compilation import announced


def batch(source, target):
    ids = {"source_ids": source, "target_ids": target}
    ids["source_copy_ids"] = source
    return {name: tf.ones(shape, tf.int32) for name, shape in ids.items()}


def test_each_shape_is_told_once(caplog):
    lines = []
    traced = []

    @tf.function(autograph=False)
    def add(batches, more):
        traced.append(1)
        return tf.reduce_sum(batches[0]["source_ids"]) + more

    function = announced(add, "train on", lines.append)
    with caplog.at_level(logging.WARNING):
        for length in [*range(3, 10), 3, 4]:
            found = function((batch((2, length), (2, 5)),), tf.constant(1))
            assert found == 2 * length + 1
    # TensorFlow would warn of so many.
    assert not caplog.records
    assert len(traced) == 7 and len(lines) == 14
    assert lines[0] == (
        "XLA compiles program 1 to train on batches of source 2 x 3, "
        "target 2 x 5 ..."
    )
    assert lines[1].startswith("... which took ")
    assert tf.get_logger().isEnabledFor(logging.ERROR)
    assert tf.get_logger().level <= logging.WARNING
