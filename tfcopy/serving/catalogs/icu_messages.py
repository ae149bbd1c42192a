"""ICU messages, such as `{count, plural, one {# file} other {# files}}`.

They nest, so that regular expressions cannot find them. Keywords are kept, and
the text of each branch is translated separately.

Reference: ICU's documentation, "Formatting Messages".
"""

import re

_HEAD = re.compile(
    r"\{\s*[\w.-]+\s*,\s*(plural|selectordinal|select)\s*,"
    r"\s*(?:offset:\s*\d+\s*)?"
)
_KEY = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
_DEPTH = 20


def cut(text: str) -> list[tuple[str, bool | None]]:
    """Splits a text into kept parts and parts to translate.

    Returns:
        The parts in order, each with `None` if it is kept, or a boolean:
        whether it is a branch for a number, which `#` represents.
    """
    if not _HEAD.search(text):
        return [(text, False)]
    ends, is_open = {}, []
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            is_open.append(match.start())
        elif is_open:
            ends[is_open.pop()] = match.start()
    return list(_cut(text, 0, len(text), ends, False, 0))


def _cut(text, begin, stop, ends, has_number, depth):
    done = begin
    for head in _HEAD.finditer(text, begin, stop):
        if head.start() < done or depth == _DEPTH:
            continue
        branches = _branches(text, head, ends)
        if not branches:
            continue
        yield text[done : head.start()], has_number
        done = head.start()
        for first, last in branches:
            yield text[done:first], None
            is_number = head[1] != "select" or has_number
            yield from _cut(text, first, last, ends, is_number, depth + 1)
            done = last
        end = ends[head.start()] + 1
        yield text[done:end], None
        done = end
    yield text[done:stop], has_number


def _branches(text, head, ends):
    """Returns the places of the texts of branches; [] if there are none."""
    found, end = [], ends.get(head.start(), -1)
    place = head.end()
    while key := _KEY.match(text, place, max(end, place)):
        last = ends.get(key.end() - 1, end)
        found.append((key.end(), last))
        place = last + 1
    return found if text[place:end].strip() == "" and place <= end else []
