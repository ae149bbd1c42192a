"""HTML elements that show words, probabilities and attention.

All texts are escaped. `style.css` styles the elements.

Shapes: T target words (rows), S source words (columns).
"""

import html
import itertools

import numpy as np

# Maximum size of a map.
MAX_ROWS = 100
MAX_COLUMNS = 80
# Smaller weights are not drawn.
LEAST_WEIGHT = 0.001
_LONGEST_LABEL = 40
_GOLDEN_ANGLE = 137.508
_END = "</s>"
# Shown instead of a blank text.
EMPTY = '<span class="tfc-faint">(empty)</span>'
# Escapes the placeholders of templates, and lone surrogates.
_TEMPLATE_MARKS = str.maketrans({x: f"&#{ord(x)};" for x in "${}`"})
_TEMPLATE_MARKS |= dict.fromkeys([0, *range(0xD800, 0xE000)], "\ufffd")


def escape(text) -> str:
    """Escapes a text as HTML, for attributes as well."""
    return html.escape(str(text)).translate(_TEMPLATE_MARKS)


def label(word) -> str:
    """Returns the HTML of a word on an axis or in a list, truncated.

    The blank at the beginning of a subword, `▁`, and `</s>` are shown faintly.
    """
    if word == _END:
        return '<bdi class="tfc-faint" title="the end of the text">end</bdi>'
    shown = escape(shortened(word)).replace(
        "▁", '<span class="tfc-faint">▁</span>'
    )
    title = f' title="{escape(word[:1000])}"' if shortened(word) != word else ""
    return f'<bdi dir="auto"{title}>{shown}</bdi>'


def shortened(word, longest: int = _LONGEST_LABEL) -> str:
    """Truncates a long word."""
    return word if len(word) <= longest else word[: longest - 1] + "…"


def hues(positions) -> dict[int, int]:
    """Returns a hue, in degrees, for each of some positions.

    Neighbours have hues that are far apart.
    """
    return {
        position: round(30 + i * _GOLDEN_ANGLE) % 360
        for i, position in enumerate(sorted(set(positions)))
    }


def find_words(text, words) -> list[tuple[int, int]] | None:
    """Finds words in a text, in order, with blanks between them.

    Args:
        text: The text.
        words: Words, subwords that begin with `▁` for a blank, or characters;
            possibly in lower case.

    Returns:
        `(start, end)` of each; `None` if the text lacks one.
    """
    for function in (str, _folded):
        spans = _find(function(text), [function(word) for word in words])
        if spans is not None:
            return spans
    return None


def _find(text, words):
    spans, place = [], 0
    for word in words:
        for form in (word, word.replace("▁", " ").strip()):
            start = text.find(form, place)
            if start >= 0 and not text[place:start].strip():
                break
        else:
            return None
        place = start + len(form)
        spans.append((start, place))
    return spans


def _folded(text):
    """Returns the text in lower case, with the same length."""
    return "".join(x.lower() if len(x.lower()) == 1 else x for x in text)


def running_text(text, words, decorate, span=(), span_class="") -> str:
    """Returns the HTML of a text with some of its words decorated.

    Args:
        text: The text; if it lacks these words in this order, the words are
            shown instead, with blanks between them.
        words: Its words.
        decorate: Function from the number of a word and its HTML to HTML.
        span: Numbers of neighbouring words that are marked together.
        span_class: CSS class of this mark.
    """
    spans = find_words(text, words)
    if spans is None:
        text = " ".join(words)
        ends = list(itertools.accumulate(len(word) + 1 for word in words))
        spans = [(e - len(w) - 1, e - 1) for e, w in zip(ends, words)]
    parts, place = [], 0
    for i, (start, end) in enumerate(spans):
        parts.append(escape(text[place:start]))
        if span and i == min(span):
            parts.append(f'<mark class="{span_class}">')
        parts.append(decorate(i, escape(text[start:end])))
        if span and i == max(span):
            parts.append("</mark>")
        place = end
    rest = escape(text[place:])
    if rest.strip():
        rest = (
            '<span class="tfc-faint" title="too long: this was not read">'
            f"{rest}</span>"
        )
    return "".join(parts) + rest


def percent(probability) -> str:
    """Formats a probability with two digits, such as 97 % or 0.4 %."""
    value = 100 * float(probability)
    if 0 < value < 0.01:
        return "< 0.01 %"
    digits = 0 if value >= 9.95 or value == 0 else 1 if value >= 0.095 else 2
    return f"{value:.{digits}f} %"


def bar_chart(names, probabilities, notes=None, marked=()) -> str:
    """Returns the HTML of names with bars, one below the other.

    Args:
        names: Texts.
        probabilities: Number for each name, from 0 to 1.
        notes: Optional text beside each name.
        marked: Numbers of highlighted rows.
    """
    notes = notes or [""] * len(names)
    rows = [
        f"<tr{' class=tfc-marked' * (i in marked)}>"
        f'<th scope="row">{label(name)}'
        f' <span class="tfc-faint">{escape(notes[i])}</span></th>'
        f'<td class="tfc-bar"><i style="--p:{_number(p)}"></i></td>'
        f'<td class="tfc-value">{percent(p)}</td></tr>'
        for i, (name, p) in enumerate(zip(names, probabilities))
    ]
    return f'<table class="tfc-bars">{"".join(rows)}</table>'


def attention_map(
    rows,
    columns,
    weights,
    importance=None,
    framed=None,
    row_class=None,
    column_class=None,
    names=("words", "words"),
) -> str:
    """Returns the HTML of a table of words by words, shaded by weights.

    Args:
        rows: T words.
        columns: S words.
        weights: `(T, S)`, from 0 to 1.
        importance: `(S,)`; of too many columns the most important are shown; by
            default those with the largest weights.
        framed: Dict from `(row, column)` to HTML attributes of a cell.
        row_class: Dict from rows to HTML attributes of their words.
        column_class: Dict from columns to HTML attributes of their words.
        names: Names of rows and columns, for the note on hidden ones.
    """
    weights = np.asarray(weights)[: len(rows), : len(columns)]
    framed, row_class = framed or {}, row_class or {}
    column_class = column_class or {}
    if importance is None:
        importance = weights.max(axis=0, initial=0.0)
    kept_rows = range(min(len(rows), MAX_ROWS))
    kept = _most_important(importance, MAX_COLUMNS)
    gaps = {j for i, j in zip(kept, kept[1:]) if j != i + 1}
    head = "".join(
        f'<th scope="col" class="{"tfc-gap" * (j in gaps)}"><span '
        f"{column_class.get(j, '')}>{label(columns[j])}</span></th>"
        for j in kept
    )
    body = []
    for i in kept_rows:
        cells = "".join(
            _cell(
                weights[i, j],
                framed.get((i, j)),
                f"{shortened(rows[i])} → {shortened(columns[j])}",
                j in gaps,
            )
            for j in kept
        )
        body.append(
            f'<tr><th scope="row"><span {row_class.get(i, "")}>'
            f"{label(rows[i])}</span></th>{cells}</tr>"
        )
    note = _left_out(len(rows), len(kept_rows), len(columns), len(kept), names)
    return (
        f'{note}<div class="tfc-scroll" tabindex="0"><table class="tfc-map">'
        f"<thead><tr><th></th>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _most_important(importance, most):
    """Returns the numbers of the most important columns, in order."""
    order = np.argsort(-np.asarray(importance), kind="stable")
    return sorted(order[:most].tolist())


def _left_out(rows, kept_rows, columns, kept, names):
    parts = []
    if kept_rows < rows:
        parts.append(f"the first {kept_rows} of {rows} {names[0]}")
    if kept < columns:
        parts.append(
            f"{kept} of {columns} {names[1]}, the most important "
            "(dashed lines: some are left out)"
        )
    if not parts:
        return ""
    return f'<p class="tfc-note">A long text. Shown: {"; ".join(parts)}.</p>'


def _cell(weight, attributes, title, is_after_gap):
    kind = "tfc-gap" * is_after_gap
    if weight < LEAST_WEIGHT and attributes is None:
        return f'<td class="{kind}"></td>' if kind else "<td></td>"
    if attributes is not None:
        kind = f"{kind} tfc-framed".strip()
    return (
        f'<td class="{kind}" title="{escape(title)}: {weight:.3f}">'
        f'<i style="--p:{_number(weight)};{attributes or ""}"></i></td>'
    )


def _number(x):
    return f"{min(1.0, max(0.0, float(x))):.3f}"


def section(title, content, note="") -> str:
    """Returns the HTML of a section of the page, with its title."""
    note = f'<span class="tfc-hint">{note}</span>' if note else ""
    return (
        f'<section class="tfc-section"><h3>{escape(title)}{note}</h3>'
        f"{content}</section>"
    )


def paragraph(content, text) -> str:
    """Returns the HTML of a text as a paragraph, or a note if it is blank."""
    if not text.strip():
        content = EMPTY
    return f'<p class="tfc-text" dir="auto">{content}</p>'


def error(message) -> str:
    """Returns the HTML of a message in one line."""
    line = " ".join(str(message).split())
    return f'<p class="tfc-error" role="alert">{escape(line)}</p>'
