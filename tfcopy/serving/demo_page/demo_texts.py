"""HTML of the answers of models that read definitions.

Shapes: T words of a text, N of a context, M of a question, L definitions of a
word.
"""

import math

import numpy as np

from tfcopy.runtime.answer_lines import decoded
from tfcopy.runtime.signatures import AskError
from tfcopy.serving.demo_page import demo_html
from tfcopy.serving.demo_page.demo_html import escape, paragraph, percent

# Minimum probability of a start of the answer that is shown.
_LEAST_EDGE = 0.01
_MOST_EDGES = 5


def show(texts, outputs, config, headwords=()) -> str:
    """Returns the HTML of an example and its answer.

    Args:
        texts: Dict of the texts by name.
        outputs: Dict of the arrays of `analyse`, without the batch axis.
        config: Facts that the export stores.
        headwords: The headwords of the user's own dictionary.

    Raises:
        AskError: If the outputs are not those of a known model.
    """
    for name, function in _VIEWS.items():
        if name in outputs:
            return function(texts, outputs, config, frozenset(headwords))
    names = ", ".join(sorted(outputs))
    raise AskError(f"The page cannot show what this model answers: {names}.")


def _question_answering(texts, outputs, config, headwords):
    answer = _decoded(outputs["text"])
    words = decoded(outputs["context_tokens"])
    start, end = outputs["start_probability"], outputs["end_probability"]
    score = float(outputs["score"])
    shown = f'<mark class="tfc-answer">{escape(answer)}</mark>'
    if not answer.strip():
        shown = demo_html.EMPTY
    parts = [
        *_pair(
            demo_html.section(
                "Answer",
                f'<p class="tfc-text tfc-large" dir="auto">{shown}</p>',
                f"probability {percent(math.exp(min(score, 0.0)))}",
            ),
            _text("question", texts, outputs, headwords),
        ),
        demo_html.section(
            "Context", _context(texts["context"], outputs, headwords)
        ),
        _legend(
            '<mark class="tfc-answer">Marked words</mark> are the answer; a '
            'bar <mark class="tfc-edge tfc-begin" style="--s:1">before</mark> '
            "a word is as strong as the probability of beginning there, one "
            '<mark class="tfc-edge tfc-end" style="--e:1">after</mark> it of '
            "ending there;",
            outputs,
        ),
        *_pair(
            demo_html.section("Begins with", _edges(words, start)),
            # The text ends before the word with this probability.
            demo_html.section("Ends with", _edges(words[:-1], end[1:])),
        ),
    ]
    if "attention" in outputs and words:
        parts.append(_coattention(words, outputs))
    return "".join(parts)


def _context(text, outputs, headwords):
    words = decoded(outputs["context_tokens"])
    without_end = words[:-1]
    spans = demo_html.find_words(text, without_end)
    defined = _definitions(outputs, "context_headwords", headwords)
    first, last = int(outputs["start"]), int(outputs["end"])
    begins, ends = outputs["start_probability"], outputs["end_probability"]

    def decorate(i, word):
        word = defined(i, word)
        s, e = float(begins[i]), float(ends[i + 1])
        if max(s, e) >= _LEAST_EDGE:
            kinds = ["tfc-edge"]
            kinds += ["tfc-begin"] * (s >= _LEAST_EDGE)
            kinds += ["tfc-end"] * (e >= _LEAST_EDGE)
            word = (
                f'<mark class="{" ".join(kinds)}" '
                f'style="--s:{s:.3f};--e:{e:.3f}" '
                f'title="begins here: {percent(s)}, ends here: {percent(e)}">'
                f"{word}</mark>"
            )
        return word

    inside = {
        i for i, (a, b) in enumerate(spans or ()) if first <= a and b <= last
    }
    shown = demo_html.running_text(
        text, without_end, decorate, inside, "tfc-answer"
    )
    return paragraph(shown, text)


def _edges(words, probabilities):
    order = np.argsort(-probabilities[: len(words)], kind="stable")
    best = [
        i
        for rank, i in enumerate(order[:_MOST_EDGES].tolist())
        if not rank or probabilities[i] >= _LEAST_EDGE
    ]
    return demo_html.bar_chart(
        [words[i] for i in best],
        [probabilities[i] for i in best],
        [f"word {i + 1}" for i in best],
    )


def _coattention(words, outputs):
    question = decoded(outputs["question_tokens"])
    chances = outputs["start_probability"] + outputs["end_probability"]
    best = int(np.argmax(chances[: len(words)]))
    distance = np.abs(np.arange(len(words)) - best)
    return demo_html.section(
        "Attention",
        demo_html.attention_map(
            question,
            words,
            outputs["attention"].T,
            importance=-distance,
            names=("words of the question", "words of the context"),
        ),
        "of each word of the context (columns) to the question (rows)",
    )


def _entailment(texts, outputs, config, headwords):
    probabilities = outputs["probabilities"]
    labels = config.get("labels") or [
        f"label {i}" for i in range(len(probabilities))
    ]
    best = int(np.argmax(probabilities))
    parts = [
        demo_html.section(
            "Label",
            '<p class="tfc-text tfc-large">'
            f"{escape(_decoded(outputs['label']))}</p>",
        ),
        demo_html.section(
            "Probabilities",
            demo_html.bar_chart(labels, probabilities, marked={best}),
        ),
    ]
    shown = [_text(name, texts, outputs, headwords) for name in texts]
    return "".join([*_pair(*parts), *_pair(*shown), _legend("", outputs)])


def _language_model(texts, outputs, config, headwords):
    (text,) = texts.values()
    words = decoded(outputs["tokens"])
    costs = outputs["token_log_probabilities"]
    is_known = outputs["is_known"]
    defined = _definitions(outputs, "headwords", headwords)

    def decorate(i, word):
        probability = math.exp(min(float(costs[i]), 0.0))
        kind = "" if is_known[i] else " tfc-unknown"
        note = "" if is_known[i] else ", as an unknown word"
        return (
            f'<mark class="tfc-heat{kind}" '
            f'style="--p:{_surprise(probability):.3f}" '
            f'title="probability {percent(probability)}{note}">'
            f"{defined(i, word)}</mark>"
        )

    next_words = [_decoded(x) for x in outputs["next_words"]]
    shown = demo_html.running_text(text, words, decorate)
    return "".join(
        [
            demo_html.section(
                "Text",
                paragraph(shown, text),
                f"log-probability {float(outputs['log_probability']):z.2f}, "
                f"perplexity {float(outputs['perplexity']):.1f}",
            ),
            _legend(
                "The darker a word, the less probable it was after those "
                'before it; <mark class="tfc-heat tfc-unknown" '
                'style="--p:0">words</mark> that are in no vocabulary share '
                "the probability of an unknown one;",
                outputs,
            ),
            demo_html.section(
                "Next word",
                demo_html.bar_chart(next_words, outputs["next_probabilities"]),
            ),
        ]
    )


# Outputs that identify the kind of model.
_VIEWS = {
    "start_probability": _question_answering,
    "probabilities": _entailment,
    "next_words": _language_model,
}


def _surprise(probability):
    """Returns a shade from 0, certain, to 1, for at most one in 10,000."""
    return -math.log10(min(1.0, max(probability, 1e-4))) / 4 + 0.0


def _text(name, texts, outputs, headwords):
    words = decoded(outputs[f"{name}_tokens"])
    if words and words[-1] == "</s>":
        words.pop()
    defined = _definitions(outputs, f"{name}_headwords", headwords)
    text = texts[name]
    shown = demo_html.running_text(text, words, defined)
    return demo_html.section(name.capitalize(), paragraph(shown, text))


def _definitions(outputs, name, own_headwords):
    """Decorates a word with the headwords of its definitions."""
    entries = outputs.get(name, ())
    own_headwords = {headword.casefold() for headword in own_headwords}

    def decorate(i, word):
        defined_by = decoded(entries[i]) if len(entries) else []
        if not defined_by:
            return word
        is_own = any(x.casefold() in own_headwords for x in defined_by)
        whose = "your dictionary" if is_own else "the model's dictionary"
        kind = "tfc-defined tfc-own" if is_own else "tfc-defined"
        return (
            f'<span class="{kind}" '
            f'title="defined by {whose}: {escape(", ".join(defined_by))}">'
            f"{word}</span>"
        )

    return decorate


def _legend(text, outputs):
    if any(name.endswith("headwords") for name in outputs):
        dotted = "dotted" if text else "Dotted"
        text += (
            f' <span class="tfc-defined">{dotted}</span> words have '
            "definitions in the model's dictionary, "
            '<span class="tfc-defined tfc-own">these</span> in yours.'
        )
    return f'<p class="tfc-legend">{text.strip().rstrip(";")}</p>'


def _pair(*sections):
    if len(sections) < 2:
        return sections
    return ['<div class="tfc-pair">', *sections, "</div>"]


def _decoded(text):
    return text.decode("utf-8", "replace")
