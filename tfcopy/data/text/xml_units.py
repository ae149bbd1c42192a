"""Units of XML files such as TMX, read by expat block by block.

An element within a unit is an `Element`. Units may be of any size and depth, a
file of any size. External entities are refused, and internal ones have to be
text, within expat's limits.
"""

import re
from collections.abc import Iterable, Iterator
from xml.parsers import expat

# Bytes that are read at once, unless a token is longer.
_BLOCK = 1 << 14
_LONGEST_TAG = 1 << 8  # of those at which reading goes on after a fault
TAG = re.compile(rb"""<(?:[^<>"']+|"[^"]*"|'[^']*')*>""")


class XmlError(ValueError):
    """A file cannot be read; the message names it and the line."""


class Element:
    """An element of XML, and where it stands.

    Attributes:
        name: Its name, after its namespace and a blank.
        attributes: Its attributes, named likewise.
        start: Place of its first byte in the file.
        end: Place of its end tag; the place behind it if it has none.
        above: The element that it is in.
        unit: The unit that it is in, itself if it is one, or `None`.
        line: Its line, from 1.
        data: Of a unit, its bytes.
        context: What it inherits, as in `XmlReader.context_of`.
    """

    __slots__ = (
        *("name", "attributes", "start", "end", "above", "unit", "data"),
        *("line", "context", "all_parts", "first", "last"),
    )

    def __init__(self, name, attributes, start, above, unit):
        self.name, self.attributes, self.start = name, attributes, start
        self.above, self.unit = above, unit

    @property
    def local_name(self) -> str:
        """Its name without a namespace."""
        return self.name.rpartition(" ")[2]

    @property
    def parts(self) -> list[tuple["str | Element", bool]]:
        """Texts and elements within it, however deep, in their order.

        Each element comes twice: with `True` where it begins, and with `False`
        where it ends.
        """
        return self.unit.all_parts[self.first : self.last]

    @property
    def tag(self) -> bytes:
        """The bytes of its start tag."""
        tag = TAG.match(self.unit.data, self.start - self.unit.start)
        if tag is None:
            raise ValueError("an element in an entity")
        return tag[0]

    @property
    def place(self) -> range:
        """The places of its bytes in the file."""
        stop, first = self.end, self.unit.start
        if not self.tag.endswith(b"/>"):
            stop = self.unit.data.index(b">", stop - first) + 1 + first
        return range(self.start, stop)

    @property
    def markup(self) -> bytes:
        """Its bytes."""
        place, first = self.place, self.unit.start
        return self.unit.data[place.start - first : place.stop - first]

    def children(self, *names: str) -> list["Element"]:
        """The elements in it of its own namespace that have these names."""
        namespace = self.name.removesuffix(self.local_name)
        names = [namespace + x for x in names]
        return [
            x
            for x, is_begin in self.parts
            if is_begin and not isinstance(x, str)
            if x.above is self and x.name in names
        ]


class XmlReader:
    """Base class of readers of one form of XML.

    Args:
        path: Path of the file, for messages.
        encoding: Encoding of the file, if the declared one is not true.

    Attributes:
        faults: Line and reason of each damaged unit that was left out.
    """

    # Names of the elements that are units.
    names: tuple[str, ...] = ()
    # Whether damaged units are left out; the others are in a <body> then.
    skips = False

    def __init__(self, path, encoding: str | None = None):
        self.path, self.faults, self._found = path, [], []
        self._encoding, self._root = encoding, None
        # Bytes of the file from the place `_base` on.
        self._data, self._base = bytearray(), 0
        # A fault's line and reason, and where to look for the next unit.
        self._fault, self._sought, self._sought_line = None, -1, 1
        names = "|".join(self.names).encode()
        self._unit_tag = re.compile(
            rb"<(/)?(?:[\w.-]+:)?(?:%s)(?(1)\s*>|[\s/>])|</body\s*>" % names
        )
        self._begin(0, 1)

    def context_of(self, element: Element, above):
        """Returns what elements in an element inherit; `None` to skip it.

        Args:
            element: A unit, or an element outside of units.
            above: The context of the element that it is in, if there is one.
        """
        return self

    def convert(self, unit: Element) -> Iterable:
        """Returns what is read of a unit."""
        raise NotImplementedError

    def read(self, file) -> Iterator:
        """Yields what is read of a binary file; `None` for a damaged unit.

        Raises:
            XmlError: If it cannot be read.
        """
        size, is_last = _BLOCK, False
        while not is_last:
            block = file.read(size)
            is_last = not block
            self._data += block
            self._parse(block, is_last)
            yield from self._found
            self._found.clear()
            self._here()
            done = self._place if self._fault is None else self._sought
            # expat begins a token again with each block.
            size = max(_BLOCK, self._base + len(self._data) - done)
            if self._unit is not None and self._fault is None:
                done = self._unit.start
            if done > self._base:
                del self._data[: done - self._base]
                self._base = done

    def refuse(self, reason: str, line: int):
        """Raises an XmlError."""
        raise XmlError(f"{self.path}, line {line}: {reason}.")

    def _begin(self, offset, line):
        """Starts a parser whose first byte is at a place, in a line."""
        self._offset, self._line = offset, line
        self._element = self._unit = None
        self._parser = parser = expat.ParserCreate(self._encoding, " ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.XmlDeclHandler = self._declare
        parser.ExternalEntityRefHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity
        parser.buffer_text = True

    def _here(self):
        """Notes the place and the line of what is read."""
        # After an error here expat reads on.
        self._place = self._offset + self._parser.CurrentByteIndex
        self._current_line = self._line + self._parser.CurrentLineNumber - 1

    def _declare(self, version, encoding, is_standalone):
        self._encoding = self._encoding or encoding

    def _refuse_entity(self, *_):
        self._here()
        raise ValueError("an undefined or external entity")

    def _start(self, name, attributes):
        self._here()
        above, unit = self._element, self._unit
        element = Element(name, attributes, self._place, above, unit)
        element.line = self._current_line
        self._element = element
        if unit is None:
            self._start_outside(element)
            unit = self._unit
        elif self.skips and name.rpartition(" ")[2] in self.names:
            raise ValueError("a unit within another")
        if unit is not None:
            unit.all_parts.append((element, True))
            element.first = len(unit.all_parts)

    def _start_outside(self, element):
        name, above = element.local_name, element.above
        element.context = None
        if above is None:
            start = element.start - self._base
            self._root = TAG.match(self._data, start)[0]
            if name in self.names:
                self.refuse(f"<{name}> is the root of the file", element.line)
        if above is None or above.context is not None:
            context = above and above.context
            element.context = self.context_of(element, context)
            if name in self.names and element.context is not None:
                self._unit = element.unit = element
                element.all_parts = []

    def _text(self, text):
        if self._unit is not None:
            self._unit.all_parts.append((text, True))

    def _end(self, name):
        self._here()
        element, unit = self._element, self._unit
        self._element = element.above
        if unit is None:
            return
        element.end = self._place
        element.last = len(unit.all_parts)
        unit.all_parts.append((element, False))
        if element is unit:
            start = unit.start - self._base
            end = self._data.find(b">", unit.end - self._base) + 1
            unit.data = bytes(self._data[start:end])
            self._unit = None
            self._found += self.convert(unit)

    def _parse(self, block, is_last):
        if self._fault is not None:
            block = self._rest()
        while self._fault is None:
            try:
                self._parser.Parse(block, is_last)
                return
            except XmlError:
                raise
            except (expat.ExpatError, LookupError, ValueError) as error:
                reason = str(error).partition(":")[0]
                if isinstance(error, expat.ExpatError):
                    self._here()
            place, line = self._place - self._base, self._current_line
            self._fault = line, f"not valid XML ({reason})"
            # Of an end tag without its start tag, expat tells the name.
            start = max(0, place - 2, self._sought + 1 - self._base)
            self._sought_line = line - self._data.count(b"\n", start, place)
            self._sought = self._base + start
            block = self._rest()
        if is_last or not (self.skips and self._root):
            self.refuse(self._fault[1], self._fault[0])

    def _rest(self):
        """Starts again at the next unit after a fault; returns the bytes.

        If there is none yet, the fault remains.
        """
        start, data = self._sought - self._base, self._data
        place, head = max(start, len(data) - _LONGEST_TAG), b""
        if self.skips and self._root:
            tag = self._unit_tag.search(data, start)
            if tag is not None:
                place = tag.end() if tag[1] else tag.start()
                head = self._root + b"<body>"
            del tag  # It holds the data.
        self._sought_line += data.count(b"\n", start, place)
        self._sought = self._base + place
        if head:
            self.faults.append(self._fault)
            self._found.append(None)
            self._fault = None
            data[:place] = head
            self._base = self._sought - len(head)
            self._begin(self._base, self._sought_line)
        return bytes(data) if head else b""
