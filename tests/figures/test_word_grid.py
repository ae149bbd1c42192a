import numpy as np
import pytest

from tests import helpers
from tfcopy.figures import DisplayedTranslation, join_pieces

ANSWER = DisplayedTranslation(
    ["⟨s⟩", "Łuk", "asz", "▁is", "▁he", "re"],
    ["⟨s⟩", "So", "▁Łuk", "asz", ",", "▁ok", "</s>"],
    [0, 2, 3, -1, -1, 5],
    np.array([0.0, 0.3, 0.6, 1.0, 0.5, 0.7]),
    np.arange(42.0).reshape(6, 7) / 100,
)


def test_pieces_of_a_word_are_one():
    shown = join_pieces(ANSWER, {"source": True, "target": True})
    assert shown.words == ["Łukasz", "is", "here"]
    assert shown.source == ["So", "Łukasz,", "ok", "</s>"]
    # The first is copied from the start symbol on, the last in part only.
    assert shown.copied_from == [0, -1, -1]
    helpers.assert_close(shown.generate, [0.3, 1.0, 0.6])
    columns = [[0, 1], [2, 3, 4], [5], [6]]
    expected = [
        [np.mean([ANSWER.attention[i, c].sum() for i in row]) for c in columns]
        for row in [[0, 1, 2], [3], [4, 5]]
    ]
    helpers.assert_close(shown.attention, expected)


def test_a_word_is_copied_from_the_word_of_its_first_piece():
    answer = ANSWER._replace(
        words=["▁Łuk", "asz"],
        copied_from=[2, 3],
        generate=ANSWER.generate[:2],
        attention=ANSWER.attention[:2],
    )
    shown = join_pieces(answer, {"source": True, "target": True})
    assert (shown.words, shown.copied_from) == (["Łukasz"], [1])


@pytest.mark.parametrize("empty", [False, True])
def test_what_is_no_piece_stays(empty):
    answer = ANSWER
    if empty:
        answer = DisplayedTranslation(
            [], ["</s>"], [], np.zeros(0), np.zeros((0, 1))
        )
    shown = join_pieces(answer, {})
    assert shown[:3] == answer[:3]
    helpers.assert_close(shown[3:5], answer[3:5])
    assert shown[5:] == answer[5:]
    whole = join_pieces(answer, {"source": True})
    assert whole.words == answer.words and whole.source[-1] == "</s>"
