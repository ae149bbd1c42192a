"""Inline markup of reStructuredText, as docutils reads it.

The patterns of RE2 match whole texts, here and in graphs.
"""

import functools
import re
import types
from collections.abc import Iterable

import re2

_LINK = re.compile(r"(?s)`[^<]*(<[^<>]*>`__?)")
INLINE_MARKUP = r"(?s)``.*``|:[^`]*:`.*`|\|.*\||\[.*\]_"
TARGET = r"(?s)<.*>`__?"  # of a link, after its text
# Texts right after which inline markup does not begin, or before which it does
# not end. Of ASCII docutils names the signs, of the rest it takes all
# punctuation, but no bracket that is on its other side. U+200B (`\f`, see
# `blanks.IN_ASCII`) is none.
_CONTROLS = r"\x00-\x08\f\x0e-\x1b\x7f"
_NO_SIGN = r"[^\x00-\x7f\s\p{Pi}\p{Pf}\p{Pd}\p{Po}\p{%s}]"
NO_BEGIN = (
    rf"(?s).*(?:[{_CONTROLS}!#-&)-,.0-9;=-Z\\\]-z|}}~]|{_NO_SIGN % 'Ps'})"
)
NO_END = rf"(?s)(?:[{_CONTROLS}#-&(*+0-9<=@-Z\[^-z{{|~]|{_NO_SIGN % 'Pe'}).*"
PLURAL = r"(?s)s(?:[^\pL\pN_`|].*)?"
# Ends markup, but is not shown.
PLURAL_BLANK = "\\ "
# Characters: for names without an end docutils takes the square of it.
_LONGEST = 4_000


def markup_of(text: str) -> list[str] | None:
    """Finds literals, roles, substitutions, footnotes and links of a text.

    Of a link with a text of its own it is the target, such as `<url>`_.

    Args:
        text: A paragraph.

    Returns:
        Strings in their order; `None` if the text is too long to be read.
    """
    if len(text) > _LONGEST:
        return None
    inliner, memo, nodes = _parser()
    # Nodes that are copied to the letter. The text of a link is translated.
    kept = (
        nodes.literal,
        nodes.inline,
        nodes.substitution_reference,
        nodes.footnote_reference,
        nodes.reference,
    )
    parent = nodes.paragraph()
    found, _ = inliner.parse(text.replace("\0", " "), 0, memo, parent)
    raw = [x.rawsource for x in found if isinstance(x, kept)]
    return [_LINK.sub(r"\1", x) for x in raw]


def separate_markup(text: str, spans: Iterable[str]) -> str:
    """Inserts blanks around inline markup where docutils needs them.

    The blank before a plural's letter is one that is not shown.

    Args:
        text: A text.
        spans: The markup that it must contain.
    """
    # A target is one with the link's text before it.
    patterns = [
        (r"`[^`<>]*" if _matches(x, TARGET) else "") + re.escape(x)
        for x in spans
        if x[0] in "`:|[" or _matches(x, TARGET)
    ]
    if not patterns:
        return text
    longest = sorted(patterns, key=len, reverse=True)
    parts = re.split(f"({'|'.join(longest)})", text)
    made = parts[:1] if parts[0] else []
    for span, after in zip(parts[1::2], parts[2::2]):
        if made and _is_lost(made[-1][-1], NO_BEGIN):
            made.append(" ")
        made.append(span)
        if after:
            if _is_lost(after[0], NO_END):
                made.append(PLURAL_BLANK if _matches(after, PLURAL) else " ")
            made.append(after)
    return "".join(made)


def _is_lost(sign, pattern):
    """Returns whether inline markup is none beside a sign."""
    return not sign.isspace() and _matches(sign, pattern)


def _matches(text, pattern):
    text = text.encode(errors="replace").decode()
    return re2.fullmatch(pattern, text) is not None


@functools.cache
def _parser():
    """Makes docutils' parser of a paragraph, its memo, and its nodes."""
    from docutils import frontend, nodes, utils
    from docutils.parsers import rst
    from docutils.parsers.rst import languages, states

    def read_role(raw, text, role, *_):
        # Sphinx has many roles: any is one, but none is a title in quotes.
        kind = nodes.inline if role else nodes.title_reference
        return [kind(raw, text)], []

    settings = frontend.get_default_settings(rst.Parser)
    settings.report_level = settings.halt_level = 5  # silent
    document = utils.new_document("", settings)
    inliner = states.Inliner()
    inliner.interpreted = read_role
    inliner.init_customizations(settings)
    memo = types.SimpleNamespace(
        document=document,
        reporter=document.reporter,
        language=languages.get_language("en", document.reporter),
        inliner=inliner,
    )
    return inliner, memo, nodes
