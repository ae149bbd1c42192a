"""Placeholders of the demo catalogue's messages: of C, Python and braces."""

import random
from collections.abc import Mapping, Sequence

from tfcopy.data.generated.demo_catalogs_spans import Spans

_KINDS = ("s", "d")  # of texts and of numbers


class Placeholders:
    """Writes the placeholders of one message in one way.

    Args:
        rng: A `random.Random`.
        spans: Whose split the names of placeholders belong to.
    """

    def __init__(self, rng: random.Random, spans: Spans):
        self.rng = rng
        self.spans = spans

    def choose(
        self, marks: Mapping[str, tuple[str, bool]], texts: Sequence[str]
    ) -> tuple[dict[str, str], str]:
        """Placeholders for the marks that stand for them.

        Where they are in another order in one of the texts, or one stands
        twice, they have names or numbers: `%s` would mean something else.

        Args:
            marks: By the character that stands for it, `"s"` for a text, `"d"`
                for a number, or the kind of another span; and whether it is a
                literal, as in "``%s``".
            texts: The message in all its languages and numbers.

        Returns:
            `(placeholders, flag)`: by character, and gettext's name of the way
            that they are written in, such as `"c-format"`; `""` without any.
        """
        mine = {x: kind for x, (kind, _) in marks.items() if kind in _KINDS}
        if not mine:
            return {}, ""
        orders = {tuple(x for x in text if x in mine) for text in texts}
        in_order = orders == {tuple(mine)}
        way = self.rng.choice(("c", "python", "python-brace"))
        write = getattr(self, f"_{way.replace('-', '_')}")
        written = dict(zip(mine, write(list(mine.values()), in_order)))
        for mark in mine:
            if marks[mark][1]:
                written[mark] = f"``{written[mark]}``"
        return written, f"{way}-format"

    def _c(self, kinds, in_order):
        if in_order:
            return [self._plain(kind) for kind in kinds]
        return [f"%{i}${kind}" for i, kind in enumerate(kinds, start=1)]

    def _python(self, kinds, in_order):
        if in_order and self.rng.random() < 0.4:
            return [self._plain(kind) for kind in kinds]
        names = self._distinct_names(len(kinds))
        return [f"%({name}){kind}" for name, kind in zip(names, kinds)]

    def _python_brace(self, kinds, in_order):
        shape = self.rng.random()
        ends = [self._conversion(kind) for kind in kinds]
        if in_order and shape < 0.3:
            return ["{%s}" % end for end in ends]
        if shape < 0.6:
            return ["{%d%s}" % pair for pair in enumerate(ends)]
        names = self._distinct_names(len(kinds))
        return ["{%s%s}" % pair for pair in zip(names, ends)]

    def _plain(self, kind):
        if kind == "d":
            return self.rng.choice(("%d", "%d", "%d", "%i"))
        return "%s"

    def _conversion(self, kind):
        if self.rng.random() < 0.8:
            return ""
        return "!r" if kind == "s" else ":d"

    def _distinct_names(self, number):
        names = []
        while len(names) < number:
            name = self.spans.placeholder_name()
            if name not in names:
                names.append(name)
        return names
