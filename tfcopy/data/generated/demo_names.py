"""Names and placeholders for the demos, in many scripts and shapes.

Names are combined from parts, tens of thousands of them. Each belongs to one
split only, given by a checksum of its letters: no name of the test set ever
occurs in training, whatever the seed and the sizes.

Spans of markup are names, too, but for the few that every program has, such as
`None`: made-up code, options, files and addresses. No translation alters them.
"""

import random
import zlib
from collections.abc import Mapping, Sequence

from tfcopy.data.generated import text_tables

# Each style of each script has a few lists of parts.
_NAME_PARTS = {
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
    """Returns the only split in which the name may occur."""
    return _SPLIT_OF_REMAINDER.get(zlib.crc32(name.encode()) % 8, "train")


class _OfSplit:
    """Base class of generators of names that belong to one split.

    Args:
        rng: A `random.Random`.
        split: `"train"`, `"validation"` or `"test"`.
    """

    def __init__(self, rng: random.Random, split: str):
        self.rng = rng
        self.split = split

    def _draw(self, draw) -> str:
        """Draws until the name belongs to this split."""
        while split_of(name := draw()) != self.split:
            pass
        return name


class Names(_OfSplit):
    """Generator of names of people, places and companies."""

    def surname(self) -> str:
        """Draws a surname."""
        shape = self.rng.random()
        if shape < 0.06:  # hyphenated
            return self._draw(lambda: f"{self._latin()}-{self._latin()}")
        if shape < 0.82:
            return self._draw(self._latin)
        return self._draw(self._other_script)

    def given_name(self) -> str:
        """Draws a given name."""
        if self.rng.random() < 0.08:
            return self._draw(lambda: f"{self._given()}-{self._given()}")
        return self._draw(self._given)

    def full_name(self) -> str:
        """Draws one to three words."""
        shape = self.rng.random()
        if shape < 0.1:
            return self._draw(self._other_script)
        if shape < 0.13:
            names = [self.given_name(), self.given_name(), self.surname()]
            return " ".join(names)
        return f"{self.given_name()} {self.surname()}"

    def place(self) -> str:
        """Draws the name of a place."""
        place = _NAME_PARTS["place"]
        shape = self.rng.random()
        if shape < 0.08:
            return self._draw(self._other_script)
        if shape < 0.16:
            return self._draw(
                lambda: self._join((*place[""], *place["endings"]))
            )
        return self._draw(lambda: self._join(place[""]))

    def company(self) -> str:
        """Draws the name of a company."""
        return self._draw(lambda: self._join(_NAME_PARTS["company"][""]))

    def acronym(self) -> str:
        """Draws an acronym of three or four letters."""

        def draw():
            letters = self.rng.choices("ABCDEFGIKLMNOPRSTUVXZ", k=4)
            return "".join(letters[: self.rng.choice((3, 4, 4))])

        return self._draw(draw)

    def emoji(self) -> str:
        """Draws an emoji."""
        return self._draw(lambda: self.rng.choice(_EMOJI))

    def code(self) -> str:
        """Draws the number of a report or a directive: A5-0123/1999."""

        def draw():
            kind = self.rng.choice(("A5", "B5", "C4", "H", "O"))
            number = self.rng.randrange(1, 1000)
            return f"{kind}-{number:04d}/{self.rng.randrange(1994, 2011)}"

        return self._draw(draw)

    def _latin(self) -> str:
        return self._join(self._choose("latin"))

    def _given(self) -> str:
        return self._join(_NAME_PARTS["given"][""])

    def _other_script(self) -> str:
        return self._join(self._choose("other"))

    def _choose(self, script):
        """Draws the parts of one of the script's styles."""
        return _NAME_PARTS[script][self.rng.choice(sorted(_NAME_PARTS[script]))]

    def _join(self, parts) -> str:
        return "".join(map(self.rng.choice, parts))


_SPAN_PARTS = text_tables.read_as(text_tables.words, "demo_catalogs_names")
# Spans of all splits.
COMMON = ("``None``", "``True``", "``False``", "``0``", "``1``", "``-1``")


class Spans(_OfSplit):
    """Generator of spans of markup: code, options, files, addresses."""

    def draw(self, kind: str, roles: bool = True) -> str:
        """Draws a span.

        Args:
            kind: Kind of its referent: `"func"`, `"path"`, `"url"` and so on.
            roles: Whether it may be a role, as in documentation, `:func:`;
                messages have literals alone.
        """
        make = getattr(self, f"_{kind}")
        while True:
            made = make()
            role, name = made if isinstance(made, tuple) else ("", made)
            if role == "plain":
                span = name
            elif role and roles and self.rng.random() < 0.7:
                span = f":{role}:`{name}`"
            else:
                call = "()" if role in ("func", "meth") else ""
                span = f"``{name.lstrip('~!')}{call}``"
            if span in COMMON or split_of(span) == self.split:
                return span

    def placeholder_name(self) -> str:
        """Draws the name in `%(name)s` or `{name}`; short ones may recur."""
        if self.rng.random() < 0.3:
            return self._pick("singles")
        return self._draw(self._snake)

    # === Code ===

    def _func(self):
        return "func", self._qualify(self._snake())

    def _method(self):
        return "meth", self._qualify(self._snake(), self._camel())

    def _class(self):
        return "class", self._qualify(self._camel())

    def _attr(self):
        return "attr", self._qualify(self._snake(), self._camel())

    def _exc(self):
        first, second = self._pick("words"), self._pick("words")
        name = f"{first.capitalize()}{second.capitalize()}Error"
        return "exc", self._qualify(name)

    def _const(self):
        return "const", self._qualify(self._snake().upper())

    def _mod(self):
        name = self._module()
        if self.rng.random() < 0.4:
            name += f".{self._pick('words')}"
        return "mod", name

    def _word(self):
        if self.rng.random() < 0.3:
            return f"{self._pick('singles')}_{self._pick('words')}"
        return self._snake()

    def _value(self):
        shape = self.rng.random()
        if shape < 0.65:
            return self.rng.choice(COMMON).strip("`")
        if shape < 0.8:
            return f"'{self._join('-', 2)}'"
        return str(self.rng.randrange(2, 10_000))

    def _call(self):
        """Draws an expression: ``parse(tree_node, depth=3)``."""
        last = f"{self._pick('singles')}={self.rng.randrange(100)}"
        return f"{self._snake()}({self._pick('words')}, {last})"

    # === Programs and files ===

    def _option(self):
        shape = self.rng.random()
        name = f"--{self._join('-', self.rng.choice((2, 2, 3)))}"
        if shape < 0.25:
            return f"{name}={self._pick('singles').upper()}"
        return "option", name

    def _env(self):
        return "envvar", self._join("_", self.rng.choice((2, 3))).upper()

    def _package(self):
        return f"{self._module()}-{self._pick('words')}"

    def _command(self):
        shape = self.rng.random()
        program = self._pick("programs") if shape < 0.3 else self._module()
        option = f" --{self._join('-', 2)}" if shape < 0.6 else ""
        return f"{program} {self._pick('words')}{option}"

    def _path(self):
        name = f"{self._join('_', 2)}.{self._pick('extensions')}"
        if self.rng.random() < 0.5:
            name = f"{self._pick('directories')}/{name}"
        return "file", name

    def _folder(self):
        return "file", f"{self._pick('directories')}/{self._join('_', 2)}/"

    # === Places ===

    def _host(self):
        return f"{self._pick('sites')}.{self._domain()}"

    def _url(self):
        return "plain", self._address()

    def _target(self):
        """Draws the end of a link: <https://...>`_."""
        return "plain", f"<{self._address()}>`_"

    def _mail(self):
        return "plain", f"{self._pick('mailboxes')}@{self._domain()}"

    def _ref(self):
        role = self.rng.choice(("ref", "ref", "doc", "pep"))
        if role == "pep":
            return "plain", f":pep:`{self.rng.randrange(1, 4000)}`"
        joint = "/" if role == "doc" else "-"
        return "plain", f":{role}:`{self._join(joint, 2)}`"

    def _address(self):
        path = self._join("/", self.rng.choice((1, 2)))
        end = self.rng.choice(("", "/", ".html"))
        return f"https://{self._pick('sites')}.{self._domain()}/{path}{end}"

    def _domain(self):
        return f"{self._module()}.{self._pick('domains')}"

    # === Parts ===

    def _qualify(self, name, owner=None):
        shape = self.rng.random()
        owner = owner or self._module()
        if shape < 0.15:
            return f"~{owner}.{name}"
        return f"{owner}.{name}" if shape < 0.6 else name

    def _module(self):
        return self._pick("syllables") + (
            self._pick("syllables") + self._pick("endings")
        )

    def _snake(self):
        return self._join("_", self.rng.choice((2, 2, 2, 3)))

    def _camel(self):
        first = self._pick("words").capitalize()
        if self.rng.random() < 0.5:
            first += self._pick("words").capitalize()
        return first + self._pick("classes")

    def _join(self, joint, number):
        return joint.join(self._pick("words") for _ in range(number))

    def _pick(self, section):
        return self.rng.choice(_SPAN_PARTS[section])


_KINDS = ("s", "d")  # of texts and of numbers


class Placeholders:
    """Generator of the placeholders of one message, in one format.

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
        """Chooses placeholders in place of their marks.

        If their order differs in one of the texts, or one occurs twice, they
        have names or numbers: `%s` would mean something else.

        Args:
            marks: By the character in its place, `"s"` for a text, `"d"` for a
                number, or the kind of another span; and whether it is a
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
