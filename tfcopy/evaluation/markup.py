"""Scores of kept markup: code, links, placeholders, tags."""

import collections
from collections.abc import Sequence

from tfcopy.data.text.answer_check import spans_of_both


def kept(
    sources: Sequence[str], answers: Sequence[str], protect: Sequence[str]
) -> dict:
    """The spans of the sources that the answers hold, to the letter.

    A span that a source has twice is kept twice or in part; their order does
    not count. Markup of reStructuredText is kept where docutils finds it. Where
    there is no span, nothing is lost: 100 percent.

    Args:
        sources: Texts.
        answers: Their translations.
        protect: Names of patterns, or regular expressions, as in
            `span_patterns.spans_of`.

    Returns:
        Dict of `spans`, the number of all spans of the sources, and
        `spans_kept`, the share of them that their answers hold; `texts`, the
        number of sources with a span, and the shares of them whose answers hold
        all spans, `texts_kept`, and besides no other, `texts_exact`. The
        shares are in percent.
    """
    if len(sources) != len(answers):
        raise ValueError(
            "Expected one answer for each source. Received: "
            f"{len(sources)} sources and {len(answers)} answers."
        )
    spans = kept_spans = texts = kept_texts = exact_texts = 0
    for source, answer in zip(sources, answers):
        both = spans_of_both(source, answer, protect)
        wanted, found = map(collections.Counter, both)
        if not wanted:
            continue
        spans += wanted.total()
        kept_spans += (wanted & found).total()
        texts += 1
        kept_texts += wanted <= found
        exact_texts += wanted == found
    return {
        "spans": spans,
        "spans_kept": _percent(kept_spans, spans),
        "texts": texts,
        "texts_kept": _percent(kept_texts, texts),
        "texts_exact": _percent(exact_texts, texts),
    }


def _percent(part, whole):
    return 100 * part / whole if whole else 100.0
