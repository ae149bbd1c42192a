"""Many texts, answered in batches of similar length."""

from collections.abc import Callable

import tqdm

from tfcopy.serving.client_library.parallel_batches import in_batches_by_length


def count_words(text) -> tuple[int, int]:
    """How long a text is: blanks estimate its words well, at no cost."""
    return len(text.split()), len(text)


def in_batches(
    function: Callable,
    texts: list,
    batch_size: int,
    progress: bool = True,
    at_once: int = 1,
    words: Callable = count_words,
) -> list:
    """Answers texts, those of similar length together.

    Args:
        function: Function of a list of texts to as many answers.
        texts: Strings, UTF-8 bytes, or whatever `words` takes.
        batch_size: Most texts of a batch.
        progress: Whether to show a bar (on a terminal only).
        at_once: Positive integer, how many batches are answered at a time.
        words: Function of a text to its length, by which texts are sorted.

    Returns:
        The answers, in the order of the texts.
    """

    def answer(rows):
        return list(function([texts[row] for row in rows]))

    answers = [None] * len(texts)
    with progress_bar(len(texts), progress) as bar:
        for rows, found in in_batches_by_length(
            answer, list(map(words, texts)), batch_size, at_once
        ):
            for row, x in zip(rows, found):
                answers[row] = x
            bar.update(len(found))
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
