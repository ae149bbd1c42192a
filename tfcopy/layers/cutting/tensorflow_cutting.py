"""One or a few operations of TensorFlow each; see `keras_cutting.py`."""

import tensorflow as tf


def split(x, places, axis=-1):
    sizes = [end - start for start, end in zip([0, *places], places)]
    return tf.split(x, [*sizes, -1], axis=axis)


def repeat(x, times):
    x = tf.convert_to_tensor(x)
    shape = x.shape[1:]
    if not shape.is_fully_defined():
        shape = tf.shape(x)[1:]
    copies = tf.stack([x] * times, axis=1)
    return tf.reshape(copies, tf.concat([[-1], shape], axis=0))


def take(x, indices, axis=0):
    return tf.gather(x, indices, axis=axis)


def take_each(x, indices):
    return tf.gather(x, indices, batch_dims=1)
