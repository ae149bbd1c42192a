"""Scores of markup in translations: code, links, placeholders, tags."""

import collections
from collections.abc import Sequence

from tfcopy.data.text.answer_check import spans_of_both


def kept(
    sources: Sequence[str], answers: Sequence[str], protect: Sequence[str]
) -> dict:
    """Counts the spans of sources that translations contain verbatim.

    A span that a source has twice counts twice, and each may be kept or lost.
    The order of spans is ignored. Markup of reStructuredText is kept if
    docutils finds it. If no source has a span, all shares are 100 percent.

    Args:
        sources: Texts.
        answers: Their translations.
        protect: Names of patterns, or regular expressions, as in
            `span_patterns.spans_of`.

    Returns:
        Dict of numbers, and of shares in percent: `spans`, the number of spans
        in the sources, and `spans_kept`, the share of them in the answers;
        `texts`, the number of sources with a span, `texts_kept`, the share of
        them whose answers have all spans, and `texts_exact`, the share of them
        whose answers have all spans and no others.
    """
    spans = kept_spans = texts = kept_texts = exact_texts = 0
    for source, answer in zip(sources, answers, strict=True):
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
