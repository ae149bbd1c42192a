"""Spans that a model does not know, asked as spans that it does.

An entry's flag tells of placeholders that the model was not trained to keep
whole. Each is replaced by one that the model keeps, and put back afterwards. So
are halves of a pair.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tfcopy.data.text.span_patterns import EARLIER, places_of

# Of what a model keeps, the first is least touched by what stands beside it.
_STAND_INS = {
    "brace": "{{{}}}",
    "html": "<{}>",
    "printf": "%({})s",
    "markdown": "`{}`",
    "rst": "``{}``",
}
# The beginning of a link whose end is a span.
_BEGINS = re.compile(
    r"(?<![\w`:\\])`(?=[^`<>]+<[^<>`\s]+>`__?)|\[(?=[^\[\]]*\]\([^()\s]*\))"
)


class Question(NamedTuple):
    """A text as a model is asked.

    Attributes:
        text: What is asked.
        spans: Dict from stand-ins to what they stand for.
    """

    text: str
    spans: dict[str, str]

    def restored(self, answer: str) -> str:
        """An answer with the spans in place of their stand-ins."""
        if not self.spans:
            return answer
        found = "|".join(map(re.escape, self.spans))
        return re.sub(found, lambda x: self.spans[x[0]], answer)


def question_of(
    text: str, names: Sequence[str], known: Sequence[str]
) -> Question:
    """A text with stand-ins for what a model would not keep.

    Args:
        text: A text in one line.
        names: What spans are, as in `span_patterns.pattern_of`.
        known: What the model takes for spans.
    """
    forms = [form for name, form in _STAND_INS.items() if name in known]
    wanted = places_of(text, names)
    begins = [
        x.span()
        for x in _BEGINS.finditer(text)
        if not any(begin < x.end() and x.start() < end for begin, end in wanted)
    ]
    places = sorted({*wanted, *begins} - _kept(text, known))
    if not forms or not places:
        return Question(text, {})
    # No text has all of these.
    free = (x for x in "xyzqjkvw" if f"{x}0" not in text)
    letter = next(free, "tfcopy")
    for form in forms:
        spans, parts, end = {}, [], 0
        for number, (begin, stop) in enumerate(places):
            name = form.format(f"{letter}{number}")
            spans[name] = text[begin:stop]
            parts += [text[end:begin], name]
            end = stop
        asked = "".join([*parts, text[end:]])
        found = {asked[slice(*x)] for x in _kept(asked, known)}
        if spans.keys() <= found:
            return Question(asked, spans)
    return Question(asked, spans)


def _kept(text, known):
    """The places of what exports of any time keep whole."""
    earlier = [EARLIER.get(name, name) for name in known]
    return {*places_of(text, known)} & {*places_of(text, earlier)}
