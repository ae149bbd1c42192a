"""Names for the demos: tens of thousands, in many scripts and shapes.

Names are combined from parts. Each belongs to one split only, given by a
checksum of its letters: no name of the test set ever occurs in training,
whatever the seed and the sizes.
"""

import random
import zlib

from tfcopy.data.generated import text_tables

# Each style of each script has a few lists of parts.
_PARTS = {
    script: {
        style: [text_tables.words([line]) for line in lines]
        for style, lines in styles.items()
    }
    for script, styles in text_tables.groups("demo_names").items()
}
# Enough codes that each is as rare as a name.
_EMOJI = [
    chr(code)
    for first, last in (
        (0x1F300, 0x1F3FA),  # before the skin tones
        (0x1F400, 0x1F4FC),
        (0x1F680, 0x1F6C5),
        (0x1F90C, 0x1F9FF),
    )
    for code in range(first, last + 1)
]
_SPLIT_OF_REMAINDER = {0: "test", 1: "validation"}  # of eight; else training


def split_of(name: str) -> str:
    """The only split in which the name may occur."""
    remainder = zlib.crc32(name.encode()) % 8
    return _SPLIT_OF_REMAINDER.get(remainder, "train")


class Names:
    """Draws names that belong to one split.

    Args:
        rng: A `random.Random`.
        split: `"train"`, `"validation"` or `"test"`.
    """

    def __init__(self, rng: random.Random, split: str):
        self.rng = rng
        self.split = split

    def surname(self) -> str:
        shape = self.rng.random()
        if shape < 0.06:  # hyphenated
            return self._draw(lambda: f"{self._latin()}-{self._latin()}")
        if shape < 0.82:
            return self._draw(self._latin)
        return self._draw(self._other_script)

    def given_name(self) -> str:
        if self.rng.random() < 0.08:
            return self._draw(lambda: f"{self._given()}-{self._given()}")
        return self._draw(self._given)

    def full_name(self) -> str:
        """One to three words."""
        shape = self.rng.random()
        if shape < 0.1:
            return self._draw(self._other_script)
        if shape < 0.13:
            names = [self.given_name(), self.given_name(), self.surname()]
            return " ".join(names)
        return f"{self.given_name()} {self.surname()}"

    def place(self) -> str:
        place = _PARTS["place"]
        shape = self.rng.random()
        if shape < 0.08:
            return self._draw(self._other_script)
        if shape < 0.16:
            return self._draw(
                lambda: self._join((*place[""], *place["endings"]))
            )
        return self._draw(lambda: self._join(place[""]))

    def company(self) -> str:
        return self._draw(lambda: self._join(_PARTS["company"][""]))

    def acronym(self) -> str:
        def draw():
            letters = self.rng.choices("ABCDEFGIKLMNOPRSTUVXZ", k=4)
            return "".join(letters[: self.rng.choice((3, 4, 4))])

        return self._draw(draw)

    def emoji(self) -> str:
        return self._draw(lambda: self.rng.choice(_EMOJI))

    def code(self) -> str:
        """The number of a report or a directive: A5-0123/1999."""

        def draw():
            kind = self.rng.choice(("A5", "B5", "C4", "H", "O"))
            number = self.rng.randrange(1, 1000)
            return f"{kind}-{number:04d}/{self.rng.randrange(1994, 2011)}"

        return self._draw(draw)

    def _latin(self) -> str:
        return self._join(self._choose("latin"))

    def _given(self) -> str:
        return self._join(_PARTS["given"][""])

    def _other_script(self) -> str:
        return self._join(self._choose("other"))

    def _choose(self, script):
        """The parts of one of the script's styles."""
        return _PARTS[script][self.rng.choice(sorted(_PARTS[script]))]

    def _join(self, parts) -> str:
        return "".join(map(self.rng.choice, parts))

    def _draw(self, draw) -> str:
        """Draws until the name belongs to this split."""
        while split_of(name := draw()) != self.split:
            pass
        return name
