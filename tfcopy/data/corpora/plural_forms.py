"""Plural forms of a language, and their numbers.

The header of a catalogue has a formula in C, `nplurals=2; plural=(n != 1);`.

Reference: the manual of GNU gettext, "Additional functions for plural forms".
"""

import functools
import gettext
import re
from collections.abc import Iterable

from tfcopy.data.text.answer_check import any_must_be_in_all, have_same_spans

# Formulas distinguish numbers by their last digits; some languages have a form
# for millions.
_NUMBERS = (*range(1_000), 10**6, 2 * 10**6)
_FIELD = r"\s*nplurals\s*=\s*(\d{1,9})\b\s*(?:;\s*plural\s*=\s*([^;]*))?"


def num_forms(field: str) -> int | None:
    """Reads the number of forms from the field `Plural-Forms` of a header."""
    found = re.match(_FIELD, field)
    return int(found[1]) if found else None


def from_singular(
    field: str, count: int, singular: str, plural: str, names: Iterable[str]
) -> list[bool]:
    """Returns which forms of an entry translate its singular only.

    The form of 1 does, if it is a form of no other number and the format allows
    it to lack placeholders. If it is a form of others, as in Russian, it must
    contain the placeholder of the number. So it does only if the singular has
    the spans of the plural.

    Args:
        field: The field `Plural-Forms` of the header.
        count: The number of forms that the entry has.
        singular: The text for one.
        plural: The text for many.
        names: The flags of the entry, such as `c-format`.
    """
    numbers = _numbers(field, count)
    if count == 1 or numbers is None:
        # The only form of a language is for many.
        return [count > 1, *[False] * (count - 1)]
    same = have_same_spans(singular, plural, names)
    may_lack = same or not any_must_be_in_all(plural, names)
    return [
        1 in some and (same or may_lack and len(some) == 1) for some in numbers
    ]


@functools.lru_cache
def _numbers(field, count):
    """Returns the numbers of each form; `None` without a valid formula."""
    found = re.match(_FIELD, field)
    formula = (found and found[2] or "").strip()
    numbers = [set() for _ in range(count)]
    try:
        form_of = gettext.c2py(formula)
        for number in _NUMBERS:
            numbers[form_of(number)].add(number)
    except (ValueError, IndexError, ArithmeticError, RecursionError):
        return None
    return numbers
