"""Many texts, translated in batches of similar length."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import tqdm

from tfcopy.data.text.string_tensor import string_tensor


class Translation(NamedTuple):
    """The best answer to one text.

    Attributes:
        text: The answer.
        score: Its log-probability, after the penalties of the search; 0 for
            a blank text.
        tokens: The words of the answer.
        copied_from: For each word the source position it was copied from,
            -1 if it was generated.
        source_tokens: The words of the source, after the cut.
        generate_probs: For each word, and for the end, the probability that
            it would be generated rather than copied.
    """

    text: str
    score: float
    tokens: list[str]
    copied_from: list[int]
    source_tokens: list[str]
    generate_probs: list[float] = []


def translations_of(outputs) -> Iterator[Translation]:
    """`Translation`s made from the outputs of a `Translator`."""
    outputs = {name: x.numpy() for name, x in outputs.items()}
    emitted = outputs["emission_probs"]
    for i, text in enumerate(outputs["text"]):
        words = [word.decode() for word in outputs["tokens"][i, 0] if word]
        source = [word.decode() for word in outputs["source_tokens"][i] if word]
        yield Translation(
            text=text.decode(),
            score=float(outputs["score"][i]),
            tokens=words,
            copied_from=outputs["copied_from"][i, 0, : len(words)].tolist(),
            source_tokens=source,
            generate_probs=[p for p in emitted[i, 0].tolist() if p >= 0],
        )


def in_batches(
    function: Callable, texts: list, batch_size: int, progress: bool
) -> list:
    """Answers texts, those of similar length together.

    Args:
        function: Function of a tensor of texts, `(B,)`, to B answers.
        texts: Strings, or UTF-8 bytes.
        batch_size: Most texts of a batch.
        progress: Whether to show a bar (on a terminal only).

    Returns:
        The answers, in the order of the texts.
    """
    # Blanks estimate the number of words well, at no cost.
    order = sorted(
        range(len(texts)),
        key=lambda i: (len(texts[i].split()), len(texts[i])),
        reverse=True,
    )
    answers = [None] * len(texts)
    with progress_bar(len(texts), progress) as bar:
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            batch = string_tensor(texts[row] for row in rows)
            for row, answer in zip(rows, function(batch)):
                answers[row] = answer
            bar.update(len(rows))
    return answers


def progress_bar(total: int, progress: bool):
    """A bar of texts, to be used in a `with` statement."""
    return tqdm.tqdm(
        total=total,
        desc="Translating",
        unit=" texts",
        disable=None if progress else True,  # None: not on a terminal
        leave=False,
    )
