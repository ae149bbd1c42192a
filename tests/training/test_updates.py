import tensorflow as tf

from tfcopy.training.updates import read_ahead, stream_batches


def batches(epoch, start, context):
    numbers = tf.data.Dataset.range(10 * epoch + start, 10 * epoch + 3)
    return numbers.map(lambda x: {"x": x}, tf.data.AUTOTUNE)


def test_batches_of_epochs_follow_each_other():
    items = list(stream_batches(batches, 1, 2, 1, num_epochs=3))
    assert [int(item.batch["x"]) for item in items] == [12, 20, 21, 22]
    assert [(item.epoch, item.index) for item in items] == [
        (1, 2),
        (2, 0),
        (2, 1),
        (2, 2),
    ]
    assert [item.last_of_epoch for item in items] == [True, False, False, True]


def test_iterators_have_no_tuner_that_is_waited_for():
    """It sleeps: on one core, each epoch ended with seconds of waiting."""
    dataset = read_ahead(batches(0, 0, None))
    assert dataset.options().autotune.enabled is False
    assert [int(batch["x"]) for batch in dataset] == [0, 1, 2]
