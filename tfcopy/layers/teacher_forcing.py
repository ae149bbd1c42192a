"""From the target sentence to the decoder's inputs."""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.layers.configured import Configured
from tfcopy.layers.copying import generation_ids, matches


@keras.saving.register_keras_serializable(package="tfcopy")
class TeacherForcing(Configured, keras.layers.Layer):
    """Shifts the target by one step: BOS first, copied OOV words as UNK.

    Args:
        vocabulary_size: Size of the target vocabulary.

    Call arguments:
        target_ids: Extended ids, `(B, T)`.
        source_copy_ids: `(B, S)`.

    Returns:
        `(ids, matches)`: ids of the target vocabulary, `(B, T)`, and 1.0 where
        the source holds the previous word, `(B, T, S)`.
    """

    def __init__(self, vocabulary_size, **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def call(self, target_ids, source_copy_ids):
        first = ops.full_like(target_ids[:, :1], tokens.BOS)
        shifted = ops.concatenate([first, target_ids[:, :-1]], axis=1)
        return (
            generation_ids(shifted, self.vocabulary_size),
            ops.cast(matches(shifted, source_copy_ids), "float32"),
        )

    def compute_output_spec(self, target_ids, source_copy_ids):
        shape = (*target_ids.shape, source_copy_ids.shape[1])
        return (
            keras.KerasTensor(target_ids.shape, "int32"),
            keras.KerasTensor(shape, "float32"),
        )
