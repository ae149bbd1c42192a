"""HTML of the answers of models that copy.

Shapes: N hypotheses, T tokens of the longest, S source tokens.
"""

from typing import NamedTuple

from tfcopy.runtime.answer_lines import (
    Shown,
    found,
    join_pieces,
    translations_of,
)
from tfcopy.serving.demo_page import demo_html
from tfcopy.serving.demo_page.demo_html import escape, paragraph, percent

# Below this probability a word was not copied, but replaced afterwards.
_LEAST_COPYING = 1e-6
# Switches are hidden if all differ from 1 by less.
_LEAST_SWITCH = 0.005
# Longer sources are shown above their answers, not beside them.
_LONG = 280
# Maximum number of words with a switch.
_MOST_SWITCHES = 120


class Translation(NamedTuple):
    """Hypotheses for a text, for display.

    Attributes:
        text: The source.
        source: Its words, after truncation.
        hypotheses: The hypotheses, the best first.
        hues: Dict from copied source positions to colours.
    """

    text: str
    source: list[str]
    hypotheses: list[Shown]
    hues: dict[int, int]


def read(text, outputs, pieces={}) -> Translation:
    """Returns the `Translation` for outputs of `analyse` for one text.

    Args:
        text: The source.
        outputs: Dict of arrays without the batch axis.
        pieces: As in `join_pieces`.
    """
    hypotheses = []
    for i, x in zip(found(outputs), translations_of(outputs)):
        words, source = x.tokens, x.source_tokens
        shown = Shown(
            words,
            source,
            x.copied_from,
            outputs["generate_probability"][i, : len(words)],
            outputs["attention"][i, : len(words), : len(source)],
            x.text,
            x.score,
        )
        hypotheses.append(join_pieces(shown, pieces))
    copied = {j for x in hypotheses for j in x.copied_from if j >= 0}
    source = hypotheses[0].source
    return Translation(text, source, hypotheses, demo_html.hues(copied))


def show(translation: Translation, chosen: int = 0) -> str:
    """Returns the HTML of a text and one of its hypotheses."""
    hypothesis = translation.hypotheses[chosen]
    is_short = len(translation.text) < _LONG
    parts = [
        f'<div class="{"tfc-pair" if is_short else ""}">',
        demo_html.section("Source", _source(translation, hypothesis)),
        demo_html.section(
            "Answer",
            paragraph(_answer(translation, hypothesis), hypothesis.text),
            _summary(hypothesis),
        ),
        "</div>",
    ]
    if not hypothesis.words:
        return "".join([*parts, _n_best(translation, chosen)])
    parts += [
        _legend(hypothesis),
        _n_best(translation, chosen),
        _switches(translation, hypothesis),
        demo_html.section(
            "Attention",
            _map(translation, hypothesis),
            "rows: the answer, columns: the source; copied words are framed",
        ),
    ]
    return "".join(parts)


def copied_attributes(translation, position, copying=None) -> str:
    """Returns HTML attributes of a copied word, or of its source."""
    title = "copied into the answer"
    if copying is not None:
        word = escape(demo_html.shortened(translation.source[position]))
        title = (
            f"copied from word {position + 1}, {word}, "
            f"with probability {copying:.2f}"
        )
        if copying < _LEAST_COPYING:
            title = f"in the place of an unknown word: word {position + 1}"
    return (
        f'class="tfc-copied" style="--h:{translation.hues[position]}" '
        f'data-from="{position + 1}" title="{title}"'
    )


def _source(translation, hypothesis):
    used = set(hypothesis.copied_from)
    words = translation.source
    if demo_html.find_words(translation.text, words) is None:
        words = words[:-1]  # without `</s>`

    def decorate(j, word):
        if j not in used:
            return word
        return f"<mark {copied_attributes(translation, j)}>{word}</mark>"

    shown = demo_html.running_text(translation.text, words, decorate)
    return paragraph(shown, translation.text)


def _answer(translation, hypothesis):
    """Returns the answer in one line, with copied words coloured."""

    def decorate(i, word):
        position = hypothesis.copied_from[i]
        if position < 0:
            return word
        attributes = copied_attributes(
            translation, position, 1 - hypothesis.generate[i]
        )
        return f"<mark {attributes}>{word}</mark>"

    return demo_html.running_text(hypothesis.text, hypothesis.words, decorate)


def _summary(hypothesis):
    copied = sum(j >= 0 for j in hypothesis.copied_from)
    words = len(hypothesis.words)
    return (
        f"{copied} of {words} {'word' if words == 1 else 'words'} copied, "
        f"log-probability {hypothesis.score:z.2f}"
    )


def _legend(hypothesis):
    if not any(j >= 0 for j in hypothesis.copied_from):
        return (
            '<p class="tfc-legend">No word of this answer was copied: all '
            "were generated, from the model's vocabulary.</p>"
        )
    return (
        '<p class="tfc-legend"><mark class="tfc-copied" style="--h:30" '
        'data-from="3">word</mark> copied from word 3 of the source, in the '
        "same colour there. Plain words were generated, from the model's "
        "vocabulary.</p>"
    )


def _n_best(translation, chosen):
    if len(translation.hypotheses) < 2:
        return ""
    rows = []
    for i, hypothesis in enumerate(translation.hypotheses):
        answer = _answer(translation, hypothesis)
        if not hypothesis.text.strip():
            answer = demo_html.EMPTY
        rows.append(
            f'<li><button type="button" class="tfc-choice" data-index="{i}" '
            f'aria-pressed="{str(i == chosen).lower()}">'
            f'<span class="tfc-score">{hypothesis.score:z.2f}</span>'
            f'<span dir="auto">{answer}</span></button></li>'
        )
    return demo_html.section(
        "Best answers",
        f'<ol class="tfc-choices">{"".join(rows)}</ol>',
        "with log-probability; choose one to see its colours and attention",
    )


def _switches(translation, hypothesis):
    if hypothesis.generate.min() > 1 - _LEAST_SWITCH:
        return ""  # for models that cannot copy
    shown = []
    for i, word in enumerate(hypothesis.words[:_MOST_SWITCHES]):
        position = hypothesis.copied_from[i]
        copying = 1 - float(hypothesis.generate[i])
        attributes = ""
        if position >= 0:
            attributes = copied_attributes(translation, position, copying)
        shown.append(
            f"<li><span {attributes}>{demo_html.label(word)}</span>"
            f'<i class="tfc-switch" style="--p:{copying:.3f}" '
            f'title="copy {percent(copying)}, '
            f'generate {percent(1 - copying)}"></i>'
            f"<small>{copying:.0%}</small></li>"
        )
    left_out = len(hypothesis.words) - len(shown)
    note = f'<p class="tfc-note">And {left_out} more.</p>' * (left_out > 0)
    return demo_html.section(
        "Generate or copy?",
        f'<ul class="tfc-switches">{"".join(shown)}</ul>{note}',
        "probability of each word to be copied, not generated",
    )


def _map(translation, hypothesis):
    copied = {i: j for i, j in enumerate(hypothesis.copied_from) if j >= 0}
    importance = hypothesis.attention.max(axis=0, initial=0.0)
    importance[list(copied.values())] += 1  # Never left out
    hue = translation.hues
    return demo_html.attention_map(
        hypothesis.words,
        translation.source,
        hypothesis.attention,
        importance,
        framed={(i, j): f"--h:{hue[j]}" for i, j in copied.items()},
        row_class={
            i: copied_attributes(translation, j, 1 - hypothesis.generate[i])
            for i, j in copied.items()
        },
        column_class={
            j: copied_attributes(translation, j) for j in copied.values()
        },
        names=("words of the answer", "words of the source"),
    )
