import importlib.resources
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcopy.data.generated import text_tables
from tfcopy.data.generated.text_tables import Slot

names = st.text("abc xyz", min_size=1).map(lambda x: " ".join(x.split()))
lines = st.text("ab{}.|>=é北 ", min_size=1).map(lambda x: " ".join(x.split()))
tables = st.dictionaries(
    names.filter(bool),
    st.lists(lines.filter(lambda x: x and not x.startswith("==")), min_size=1),
)


def written(table, between):
    """A table as one may write it, with lines that mean nothing in between."""
    rows = [between]
    for name, lines in table.items():
        rows += [f"== {name} ==", between]
        for line in lines:
            first, *rest = line.split(" ")
            rows += [first, *(f"  {word}" for word in rest), between]
    return "\n".join(rows)


@given(tables, st.sampled_from(["", "# told to readers", "  \n#== x =="]))
def test_what_is_written_is_read(table, between):
    sections = text_tables.parse(written(table, between))
    assert sections == {name: tuple(lines) for name, lines in table.items()}


def test_a_line_has_two_sides():
    assert text_tables.sides("d e = f") == ("d e", "f")
    with pytest.raises(ValueError):
        text_tables.sides("d e")


def test_every_table_can_be_read_and_says_what_it_is():
    folder = importlib.resources.files("tfcopy.data.generated") / "tables"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    assert len(files) == 16
    for file in files:
        name = file.name.removesuffix(".txt")
        text = file.read_text(encoding="utf-8")
        assert text.startswith("# ")
        headings = re.findall("(?m)^==.*", text)
        assert all(re.fullmatch(r"== \S(.*\S)? ==", x) for x in headings)
        assert len(set(headings)) == len(headings)
        assert all(text_tables.read(name).values())
        # One section for each demo that shows sentences, or those of a grammar.
        least = 3 if name == "demo_examples" else 4
        assert len(text_tables.read(name)) >= least


PATTERN = "{Mr} saw {person2.last} and {v.done_by}, {late_year}."


def test_slots_are_told_apart_by_digits():
    assert text_tables.slots("{person} met {person2.last}; {Two_parts}.") == [
        Slot("person", "person", ""),
        Slot("person2", "person", "last"),
        Slot("two_parts", "two_parts", ""),
    ]


def test_slots_are_filled_from_left_to_right():
    drawn = []

    def text_of(slot):
        drawn.append(slot.name)
        return f"some {slot.type}/{slot.form}"

    assert text_tables.fill(PATTERN, text_of) == (
        "Some mr/ saw some person/last and some v/done_by, some late_year/."
    )
    assert drawn == ["mr", "person2", "v", "late_year"]


def test_slots_without_a_text_are_left():
    filled = text_tables.fill_from("{a} {b2} {A} {b}", {"b2": "{a}", "a": "x"})
    assert filled == "x {a} {A} {b}"
