"""What a model is asked of a text, and what it must not touch in it.

The spans that an export keeps are fixed in its graph. Further ones, which a
request names, are kept by its glossary: in the question a name stands for each
span, and the request's own terms say that a name is translated by itself. So
whatever the span is, markup with blanks in it or a placeholder beside letters,
the model reads one word to point at, and its answer has the span to the byte.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import re2

from tfcopy.data.text.span_patterns import pattern_of

# The name of a span: private characters of Unicode around its number. Those
# that a text has itself are spans, as are the marks of glossaries among them.
_OPEN, _CLOSE = "\ue003", "\ue004"
PRIVATE = "[\ue000-\ue004]+"
_NAME = re.compile(f"{_OPEN}([0-9]{{1,6}}){_CLOSE}")


class Question(NamedTuple):
    """A text that a model is asked.

    Attributes:
        text: The text, with names in the place of spans.
        spans: What the names stand for, by their numbers.
    """

    text: str
    spans: tuple[str, ...] = ()

    @property
    def terms(self) -> list[str]:
        """The lines of a glossary that keeps the names."""
        names = map(name_of, range(len(self.spans)))
        return [f"{name}\t{name}" for name in names]

    def places(self, answer: str) -> list[int]:
        """The numbers of the spans of an answer, in its order."""
        places = map(int, _NAME.findall(answer))
        return [x for x in places if x < len(self.spans)]

    def lost(self, answer: str) -> list[str]:
        """The spans that an answer does not have."""
        had = set(self.places(answer))
        return [x for i, x in enumerate(self.spans) if i not in had]

    def restored(self, answer: str, escape: Callable[[str], str] = str) -> str:
        """An answer with its spans.

        A model puts a blank between a name and letters. It is taken away on
        those sides of a span that had letters in the question.

        Args:
            answer: The model's answer.
            escape: Function of what is no span.
        """
        parts, letters = _NAME.split(answer), self._letters()
        for i in range(1, len(parts), 2):
            number = int(parts[i])
            if number not in letters:  # no name of this question
                parts[i] = name_of(number)
                continue
            before, after = letters[number]
            if before:
                parts[i - 1] = parts[i - 1].removesuffix(" ")
            if after:
                parts[i + 1] = parts[i + 1].removeprefix(" ")
            parts[i] = self.spans[number]
        return "".join(x if i % 2 else escape(x) for i, x in enumerate(parts))

    def _letters(self):
        """Whether there are letters before, and behind, each span."""
        if not self.spans:
            return {}
        parts, found = _NAME.split(self.text), {}
        for i in range(1, len(parts), 2):
            sides = parts[i - 1][-1:].isalnum(), parts[i + 1][:1].isalnum()
            found[int(parts[i])] = sides
        return found


def name_of(number: int) -> str:
    """What stands for a span in a question."""
    return f"{_OPEN}{number}{_CLOSE}"


def question_of(
    text: str, protect: Sequence[str], spans: Sequence[str] = ()
) -> Question:
    """A question with names for the spans of a text; those that touch are one.

    Args:
        text: The text.
        protect: Names of formats, or regular expressions, as in `pattern_of`.
        spans: What names stand for that are in the text already.
    """
    pattern = _compiled(tuple(protect), bool(spans))
    parts, found, end = [], [], 0
    for match in pattern.finditer(text):
        start, stop = match.span()
        if found and start == end:
            found[-1] += text[start:stop]
        else:
            parts += [text[end:start], name_of(len(found))]
            found.append(text[start:stop])
        end = stop
    parts.append(text[end:])
    found = [_NAME.sub(lambda x: spans[int(x[1])], y) for y in found]
    return Question("".join(parts), tuple(found))


@functools.lru_cache
def _compiled(protect, has_names):
    own = [_NAME.pattern] if has_names else [PRIVATE]
    return re2.compile(pattern_of([*own, *protect]))
