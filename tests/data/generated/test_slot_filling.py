from hypothesis import given
from hypothesis import strategies as st

from tfcopy.data.generated import slot_filling
from tfcopy.data.generated.slot_filling import Slot

PATTERN = "{Mr} saw {person2.last} and {v.done_by}, {late_year}."


def test_slots_are_told_apart_by_digits():
    assert slot_filling.slots("{person} met {person2.last}; {Two_parts}.") == [
        Slot("person", "person", ""),
        Slot("person2", "person", "last"),
        Slot("two_parts", "two_parts", ""),
    ]


def test_slots_are_filled_from_left_to_right():
    drawn = []

    def text_of(slot):
        drawn.append(slot.name)
        return f"some {slot.type}/{slot.form}"

    assert slot_filling.fill(PATTERN, text_of) == (
        "Some mr/ saw some person/last and some v/done_by, some late_year/."
    )
    assert drawn == ["mr", "person2", "v", "late_year"]


def test_slots_without_a_text_are_left():
    filled = slot_filling.fill_from("{a} {b2} {A} {b}", {"b2": "{a}", "a": "x"})
    assert filled == "x {a} {A} {b}"


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b2", "c_d"]), st.text("xy .|[]é}2"))
    )
)
def test_splitting_is_the_inverse_of_writing(parts):
    pattern = "x" + "".join(f"{{{name}}}{text}" for name, text in parts)
    texts = slot_filling.split(pattern)
    assert texts[1::2] == [slot.name for slot in slot_filling.slots(pattern)]
    assert texts[1::2] == [name for name, _ in parts]
    assert texts[::2] == ["x", *(text for _, text in parts)]
