import numpy as np

from tests import helpers
from tfcopy.layers.teacher_forcing import TeacherForcing
from tfcopy.tokens import BOS, EOS, NO_COPY, PAD, UNK

# Words of a vocabulary of 10 and, from 10 on, copied ones.
IDS = np.array([[5, 10, 9, EOS], [23, EOS, PAD, PAD]], "int32")
COPY_IDS = np.array([[10, 5, 10], [5, 11, NO_COPY]], "int32")


def test_layer_contract():
    helpers.check_layer(
        TeacherForcing(10),
        {"target_ids": IDS, "source_copy_ids": COPY_IDS},
        output_shapes=[(2, 4), (2, 4, 3)],
    )


def test_starts_with_bos_and_reads_copied_words_as_unk():
    previous, _ = TeacherForcing(10)(IDS, COPY_IDS)
    previous = helpers.to_numpy(previous)
    assert previous.tolist() == [[BOS, 5, UNK, 9], [BOS, UNK, EOS, PAD]]
    assert previous.dtype == "int32"


def test_knows_where_the_source_holds_the_word_before():
    """By extended ids: 23 and 11 are UNK both, but not the same word."""
    _, matches = TeacherForcing(10)(IDS, COPY_IDS)
    expected = np.zeros((2, 4, 3))
    expected[0, 1, 1] = expected[0, 2, 0] = expected[0, 2, 2] = 1
    helpers.assert_close(matches, expected, 0, 0)
