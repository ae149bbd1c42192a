"""Units of XML files such as TMX, read by expat block by block.

An element within a unit is an `Element`. Units may be of any size and depth, a
file of any size. External entities are refused. Internal ones must be text,
within expat's limits.
"""

import html
import re
from collections.abc import Iterable, Iterator
from xml.parsers import expat

XML_LANG = "http://www.w3.org/XML/1998/namespace lang"
# Bytes of a block, unless a token is longer.
_BLOCK = 1 << 14
_LONGEST_TAG = 1 << 8  # of those at which reading goes on after a fault
_LONGEST_ROOT = 1 << 11  # start tag of files in which it does
# Bytes that are read again after faults, blocks aside.
_MOST_AGAIN = 1 << 26
_TAG = re.compile(rb"""<(?:[^<>"']+|"[^"]*"|'[^']*')*>""")


class XmlError(ValueError):
    """Error of a file that cannot be read; names the file and the line."""


class Element:
    """An element of XML, and its place.

    Attributes:
        namespace: URI of its namespace, or "".
        name: Its name without a namespace.
        attributes: Its attributes, named by namespace, a blank and name.
        start: Place of its first byte in the file.
        end: Place of its end tag; the place behind it if it has none.
        line: Its line, from 1.
        above: The element that it is in.
        unit: The unit that it is in, itself if it is one, or `None`.
        data: Of a unit, its bytes.
        context: Outside of units, as `XmlReader.context_of` returns it.
    """

    def __init__(self, name, attributes, start, line, above, unit):
        self.namespace, _, self.name = name.rpartition(" ")
        self.attributes, self.start, self.line = attributes, start, line
        self.above, self.unit, self.context = above, unit, None

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
        tag = _TAG.match(self.unit.data, self.start - self.unit.start)
        if tag is None:
            raise ValueError("an element in an entity")
        return tag[0]

    @property
    def tag_place(self) -> tuple[int, int]:
        """Begin and end of its start tag in the file."""
        return self.start, self.start + len(self.tag)

    @property
    def end_tag(self) -> bytes:
        """The bytes of an end tag for its start tag."""
        return b"</%s>" % re.match(rb"<([^\s/>]+)", self.tag)[1]

    @property
    def place(self) -> tuple[int, int]:
        """Begin and end of its bytes in the file."""
        stop, first = self.end, self.unit.start
        if not self.tag.endswith(b"/>"):
            stop = self.unit.data.index(b">", stop - first) + 1 + first
        return self.start, stop

    @property
    def markup(self) -> bytes:
        """Its bytes."""
        start, stop = self.place
        return self.unit.data[start - self.unit.start : stop - self.unit.start]

    def label(self, *names: str) -> str:
        """Returns how it begins in a text, with those attributes that it has.

        Args:
            *names: Names of attributes.
        """
        known = (x for x in names if x in self.attributes)
        told = (f' {x}="{html.escape(self.attributes[x])}"' for x in known)
        return f"<{self.name}{''.join(told)}"

    def children(self, *names: str) -> list["Element"]:
        """Returns the child elements of its namespace that have these names."""
        return [
            x
            for x, is_begin in self.parts
            if is_begin and not isinstance(x, str) and x.above is self
            if x.namespace == self.namespace and x.name in names
        ]


class XmlReader:
    """Base class of readers of one form of XML.

    Args:
        path: Path of the file, for messages.
        encoding: Encoding of the file, if the declared one is not true.
        skips: Whether damaged units are left out; the others are in a <body>
            then.

    Attributes:
        faults: Line and reason of each damaged unit that was left out.
    """

    # Names of the elements that are units.
    names: tuple[str, ...] = ()

    def __init__(self, path, encoding: str | None = None, skips: bool = False):
        self.path, self.encoding, self.skips = path, encoding, skips
        self.faults, self._found, self._root = [], [], None
        # Bytes of the file from the place `_base` on.
        self._data, self._base = bytearray(), 0
        # A fault's line and reason, and where reading went on after the last.
        self._fault, self._resumed, self._again = None, -1, 0
        name = rb"(?:[\w.-]+:)?(?:%s)" % "|".join(self.names).encode()
        # Ends where reading can go on: before a unit, behind it or the last.
        self._next = re.compile(
            rb"(?=<%s[\s/>]|</body\s*>)|</%s\s*>" % (name, name)
        )

    def context_of(self, element: Element):
        """Returns the context of elements in an element; `None` to skip it.

        Args:
            element: A unit, or an element outside of units.
        """
        return ()

    def convert(self, unit: Element) -> Iterable:
        """Returns the values of a unit."""
        raise NotImplementedError

    def read(self, file) -> Iterator:
        """Yields the values of a binary file; `None` for a damaged unit.

        Raises:
            XmlError: If it cannot be read.
        """
        self._begin(0, 1)
        size, is_last = _BLOCK, False
        while not is_last:
            block = file.read(size)
            is_last = not block
            self._data += block
            self._parse(block, is_last)
            yield from self._found
            self._found.clear()
            # expat begins a token again with each block.
            size = max(_BLOCK, self._base + len(self._data) - self._place)
            done = self._unit.start if self._unit else self._place
            done = max(done, self._base)
            del self._data[: done - self._base]
            self._base = done

    def refuse(self, line: int, reason: str):
        """Raises an XmlError."""
        raise XmlError(f"{self.path}, line {line}: {reason}.")

    def _begin(self, offset, line):
        """Starts a parser whose first byte is at a place, in a line."""
        self._offset, self._first_line = offset, line
        self._place, self._line = offset, line
        self._element = self._unit = None
        self._parser = parser = expat.ParserCreate(self.encoding, " ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.XmlDeclHandler = self._declare
        parser.ExternalEntityRefHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity
        parser.buffer_text = True

    def _here(self):
        """Notes the current place and line."""
        # After an error here expat reads on.
        self._place = self._offset + self._parser.CurrentByteIndex
        self._line = self._first_line + self._parser.CurrentLineNumber - 1

    def _declare(self, version, encoding, is_standalone):
        self.encoding = self.encoding or encoding

    def _refuse_entity(self, *_):
        self._here()
        raise ValueError("an undefined or external entity")

    def _start(self, name, attributes):
        self._here()
        where = self._place, self._line, self._element, self._unit
        self._element = element = Element(name, attributes, *where)
        if self._unit is None:
            self._start_outside(element)
        elif self.skips and element.name in self.names:
            raise ValueError("a unit within another")
        if self._unit is not None:
            self._unit.all_parts.append((element, True))
            element.first = len(self._unit.all_parts)

    def _start_outside(self, element):
        above, is_unit = element.above, element.name in self.names
        if above is None:
            root = _TAG.match(self._data, element.start - self._base)[0]
            # It is read again after each fault.
            self._root = root if len(root) <= _LONGEST_ROOT else None
            if is_unit:
                reason = f"<{element.name}> is the root of the file"
                self.refuse(element.line, reason)
        if above is None or above.context is not None:
            element.context = self.context_of(element)
        if is_unit and element.context is not None:
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
        while self._fault is None or (block := self._rest()):
            try:
                self._parser.Parse(block, is_last)
                self._here()
                return
            except XmlError:
                raise
            except (expat.ExpatError, LookupError, ValueError) as error:
                reason = str(error).partition(":")[0]
                if isinstance(error, expat.ExpatError):
                    self._here()
            place = self._place - self._base
            # expat reports an end tag without its start tag at its name. Open
            # CDATA of a unit, for example, has hidden the units behind it.
            start, unit, line = place - 2, self._unit, self._line
            if unit is not None:
                start = unit.start + 1 - self._base
                if self._next.search(self._data, start, place):
                    line = unit.line
            self._fault = line, f"not valid XML ({reason})"
            start = max(0, start, self._resumed + 1 - self._base)
            self._again += max(0, len(self._data) - start - 4 * _BLOCK)
            if not (self.skips and self._root) or self._again > _MOST_AGAIN:
                self.refuse(*self._fault)
            self._unit = None
            self._line -= self._data.count(b"\n", start, place)
            self._place = self._base + start
        if is_last:
            self.refuse(*self._fault)

    def _rest(self):
        """Starts again at the next unit after a fault; returns the bytes.

        If there is none yet, the fault remains, and there are none.
        """
        start, data = self._place - self._base, self._data
        tag = self._next.search(data, start)
        place = tag.end() if tag else max(start, len(data) - _LONGEST_TAG)
        head = self._root + b"<body>" if tag else b""
        del tag  # It holds the data.
        self._line += data.count(b"\n", start, place)
        self._place = self._base + place
        if not head:
            return b""
        self.faults.append(self._fault)
        self._found.append(None)
        self._fault, self._resumed = None, self._place
        data[:place] = head
        self._base = self._place - len(head)
        self._begin(self._base, self._line)
        return bytes(data)
