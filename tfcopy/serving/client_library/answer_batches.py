"""Many texts, answered in batches of similar length."""

from collections.abc import Callable

import tqdm


def count_words(text) -> tuple[int, int]:
    """How long a text is: blanks estimate its words well, at no cost."""
    return len(text.split()), len(text)


def in_batches(
    function: Callable,
    texts: list,
    batch_size: int,
    progress: bool = True,
    words: Callable = count_words,
) -> list:
    """Answers texts, those of similar length together.

    Args:
        function: Function of a list of texts to as many answers.
        texts: Strings, UTF-8 bytes, or whatever `words` takes.
        batch_size: Most texts of a batch.
        progress: Whether to show a bar (on a terminal only).
        words: Function of a text to its length, by which texts are sorted.

    Returns:
        The answers, in the order of the texts.
    """
    order = sorted(
        range(len(texts)), key=lambda i: words(texts[i]), reverse=True
    )
    answers = [None] * len(texts)
    with progress_bar(len(texts), progress) as bar:
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            found = function([texts[row] for row in rows])
            for row, answer in zip(rows, found):
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
