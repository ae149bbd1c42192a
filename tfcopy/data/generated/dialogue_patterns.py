"""Inputs of short dialogues, each with one or two responses.

They are written in `tables/dialogue_patterns.txt`, which explains how.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Mapping

from tfcopy.data.generated import slot_filling, text_tables

_TABLE = text_tables.read("dialogue_patterns")
# Each input and its responses.
DIALOGUES = tuple(
    tuple(dialogue)
    for dialogue in text_tables.with_replies(
        itertools.chain.from_iterable(_TABLE.values())
    )
)


@dataclasses.dataclass(frozen=True)
class Pattern:
    """An input and one response to it, both with slots.

    Args:
        input: The input, such as `"hello, i am {person}."`.
        response: The response, such as `"nice to meet you, {person}!"`.
    """

    input: str
    response: str

    @functools.cached_property
    def slots(self) -> dict[str, str]:
        """The type of each slot of the input: `{"person2": "person"}`."""
        return {x.name: x.type for x in slot_filling.slots(self.input)}

    def fill(self, fillers: Mapping[str, str]) -> tuple[str, str]:
        """Input and response with a filler for each slot."""
        return (
            slot_filling.fill_from(self.input, fillers),
            slot_filling.fill_from(self.response, fillers),
        )

    def parse(self, input: str, response: str) -> dict[str, str] | None:
        """The fillers of a pair of this pattern; `None` for any other pair."""
        match = self._expression.fullmatch(f"{input}\t{response}")
        return match and match.groupdict()

    @functools.cached_property
    def _expression(self):
        parts = slot_filling.split(f"{self.input}\t{self.response}")
        expression, before = "", set()
        for text, name in itertools.zip_longest(parts[::2], parts[1::2]):
            expression += re.escape(text)
            if name in before:
                expression += f"(?P={name})"
            elif name:
                expression += rf"(?P<{name}>[^\t]+)"
                before.add(name)
        return re.compile(expression)


PATTERNS = tuple(
    Pattern(input, response)
    for input, *responses in DIALOGUES
    for response in responses
)


def fixed_texts() -> list[str]:
    """The texts between the slots, in lower case."""
    texts = itertools.chain.from_iterable(DIALOGUES)
    return ["|".join(slot_filling.split(text)[::2]).lower() for text in texts]
