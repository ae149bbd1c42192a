import numpy as np

from tests import helpers
from tfcopy.layers.teacher_forcing import TeacherForcing
from tfcopy.tokens import BOS, EOS, PAD, UNK

# Words of a vocabulary of 10 and, from 10 on, copied ones.
IDS = np.array([[5, 10, 9, EOS], [23, EOS, PAD, PAD]], "int32")


def test_layer_contract():
    helpers.check_layer(
        TeacherForcing(10), {"target_ids": IDS}, output_shapes=(2, 4)
    )


def test_starts_with_bos_and_reads_copied_words_as_unk():
    previous = helpers.to_numpy(TeacherForcing(10)(IDS))
    assert previous.tolist() == [[BOS, 5, UNK, 9], [BOS, UNK, EOS, PAD]]
    assert previous.dtype == "int32"
