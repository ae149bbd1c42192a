import re

import pytest

from tfcopy.data.generated import demo_catalogs
from tfcopy.data.generated.demo_catalogs import Grammar
from tfcopy.data.generated.demo_names import COMMON
from tfcopy.data.text.span_patterns import spans_of

SIZES = {"train": 5_000, "validation": 500, "test": 500}
PROTECT = ("rst", "printf", "brace")


@pytest.fixture(scope="module")
def pairs():
    return {
        split: list(demo_catalogs.generate(split, size))
        for split, size in SIZES.items()
    }


def spans(text):
    return spans_of(text, PROTECT)


def test_spans_are_the_same_on_both_sides(pairs):
    for source, target in (pair for split in pairs.values() for pair in split):
        assert sorted(spans(source)) == sorted(spans(target)), source


def test_spans_of_a_split_are_its_own_but_for_the_common(pairs):
    found = {
        split: {
            span
            for source, _ in some
            for span in spans(source)
            # Placeholders, numbers of PEPs and values are of all splits.
            if re.search(r"[`<@]|://", span) and not re.search(r"`.?\d", span)
        }
        for split, some in pairs.items()
    }
    for split in ("validation", "test"):
        shared = found["train"] & found[split]
        assert shared <= {*COMMON, "``%s``", "``%d``", "``%i``"} | {
            span for span in shared if re.search("``[%{]", span)
        }
        assert len(found[split] - found["train"]) > 500


def test_the_examples_have_spans_that_are_kept():
    for source, target in demo_catalogs.examples():
        assert sorted(spans(source)) == sorted(spans(target)) != []


def test_entries_with_plurals_count_the_same_things():
    grammar = Grammar(0, "train")
    for _ in range(50):
        one, several = grammar.plural_entry()
        assert one.flag == several.flag != ""
        assert spans(one.en) == spans(several.en)
        assert one.en != several.en
