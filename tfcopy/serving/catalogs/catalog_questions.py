"""Asking a model the texts of catalogues, in batches."""

import re
from collections.abc import Iterator, Sequence

from tfcopy.serving.catalogs.entry_texts import Answer
from tfcopy.serving.client_library.answer_lines import expecting_answers
from tfcopy.serving.client_library.signatures import AskError

# Of a model of a server that does not tell.
_MAX_WORDS = 200
# Pieces, or words and signs, that a word or a sign may be cut into.
_PIECES = 2
_END = b"</s>"
_WORD = re.compile(r"\w+|[^\w\s]")


def max_words_of(model) -> int:
    """The most words, or pieces, of a text that a model reads."""
    return model.config.get("max_source_length", _MAX_WORDS)


def protected_by(model) -> list[str]:
    """What spans are to a model, as in `lost_spans`; `[]` if it has none."""
    tokenizer = model.config.get("source_tokenizer", {})
    return list(tokenizer.get("protect") or ())


def language_of(model) -> str | None:
    """The language that a model translates to, if it is known."""
    tokenizer = model.config.get("target_tokenizer", {})
    inner = tokenizer.get("inner", tokenizer)
    return inner.get("language")


def check_translates(model):
    """Raises an AskError if a model does not translate texts."""
    asked = model.signatures.get("analyse")
    if asked is None or "copied_from" not in asked.outputs:
        raise AskError(f"{model.name}: not a model that translates texts.")


def answers_in_batches(
    model, questions: Sequence[str], batch_size: int, max_words: int
) -> Iterator[dict[str, Answer | None]]:
    """Asks texts, those of similar length together.

    Args:
        model: A `LocalModel` or a `RemoteModel`.
        questions: Texts, each once.
        batch_size: Texts asked at once.
        max_words: As `max_words_of`; a text that has as many is not whole.

    Yields:
        Dicts from the texts of a batch to their answers, `None` for a text
        of which the model has read only the beginning.
    """
    ordered = sorted(questions, key=lambda x: (_size(x), x))
    short = [x for x in ordered if _PIECES * _size(x) <= max_words]
    long = ordered[len(short) :]
    for signature, texts in (("serving_default", short), ("analyse", long)):
        for start in range(0, len(texts), batch_size):
            batch = texts[start : start + batch_size]
            with expecting_answers(model):
                outputs = model.ask(signature, {"text": batch})
                answers = {
                    text: _answer(outputs, row, max_words)
                    for row, text in enumerate(batch)
                }
            yield answers


def _size(text):
    return len(_WORD.findall(text))


def _answer(outputs, row, max_words):
    if "source_tokens" in outputs:
        words = [word for word in outputs["source_tokens"][row] if word]
        if len(words) - (words[-1:] == [_END]) >= max_words:
            return None
    text = outputs["text"][row].decode(errors="replace")
    return Answer(text, float(outputs["score"][row]))
