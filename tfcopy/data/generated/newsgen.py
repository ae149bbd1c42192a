"""Generated news and their headlines, in place of LCSTS and in its format.

It is for users without a copy of LCSTS. A text tells one event in a key
sentence and adds details; one or two other sentences are about other names of
the same kind. About 70 % of the summary's words are in the key sentence. Names
are made of syllables and mostly out-of-vocabulary; the names of parts II and
III never occur in part I. Results cannot be compared with those on LCSTS.
"""

import functools
import itertools
import os
import random
from collections.abc import Iterable, Iterator

import tqdm

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.data.corpora import lcsts
from tfcopy.data.corpora.corpus import CorpusError, fingerprint
from tfcopy.data.generated import generated_corpus
from tfcopy.data.generated.newsgen_grammar import Story
from tfcopy.data.text.vocabulary import count_words

SCRIPTS = ("latin", "cjk")

_FILES = {
    "train": "PART_I.txt",
    "validation": "PART_II.txt",
    "test": "PART_III.txt",
}
_RECORD_OF = "newsgen.txt"  # the fingerprint of the files beside it


def write(
    folder: str | os.PathLike,
    *,
    num_train: int = 50_000,
    num_validation: int = 2_000,
    num_test: int = 1_106,
    full: bool = False,
    script: str = "latin",
    seed: int = 0,
) -> None:
    """Writes `PART_I.txt`, `PART_II.txt` and `PART_III.txt`.

    Nothing is written if the same news exists already. The text is English;
    `lcsts.load(folder, language="en")` reads it. The scores of parts II and III
    are distributed as in LCSTS, and a record of score 1 or 2 carries the
    summary of another one.

    Args:
        folder: Folder to write to; made if it does not exist.
        num_train: Number of records of part I.
        num_validation: Number of records of part II.
        num_test: Number of records of part III; by default as many as in LCSTS,
            of which 725 have a score of 3 or more.
        full: Whether parts I and II are also as large as in LCSTS.
        script: `"latin"`, or `"cjk"` to write each syllable of a name as one
            of 6,000 ideographs, the rare ones outside of a vocabulary of
            characters.
        seed: The same seed gives the same news on every machine.

    Raises:
        CorpusError: if the folder cannot be written to, or holds files with
            these names that were not generated here.
    """
    if script not in SCRIPTS:
        raise ValueError(
            f"`script` must be one of {SCRIPTS}. Received: {script!r}."
        )
    if full:
        num_train = lcsts.NUM_TRAIN
        num_validation = sum(lcsts.SCORE_COUNTS["validation"])
    sizes = (num_train, num_validation, num_test)
    if min(sizes) < 1:
        raise CorpusError(
            "Each part of the generated news needs at least one record. "
            "Received: {} in part I, {} in part II and {} in part III.".format(
                *sizes
            )
        )
    key = fingerprint(sizes, script, seed, _grammar_fingerprint())
    try:
        if not _is_there(os.fspath(folder), key):
            _write_all(os.fspath(folder), sizes, script, seed, key)
    except OSError as error:
        raise CorpusError(
            f"Cannot write the generated news to {folder} "
            f"({error.strerror or error}). Choose another folder with "
            "--data_dir."
        ) from error


def generate(
    split: str, number: int, *, script: str = "latin", seed: int = 0
) -> Iterator[tuple[int | None, str, str]]:
    """Yields score, text and summary of records without storing them.

    Args:
        split: `"train"`, whose score is `None`, `"validation"` or `"test"`.
        number: How many.
        script: As in `write`.
        seed: As in `write`.
    """
    rng = random.Random(f"newsgen/{seed}/{split}")
    stories = (Story(rng, split, script).tell() for _ in range(number))
    if split == "train":
        for text, summary in stories:
            yield None, text, summary
        return
    stories = list(stories)
    scores = _scores(lcsts.SCORE_COUNTS[split], number)
    rng.shuffle(scores)
    for i, (score, (text, summary)) in enumerate(zip(scores, stories)):
        if score <= 2:
            summary = stories[(i + 1) % number][1]
        yield score, text, summary


def oov_rate(texts: Iterable[str], vocabulary, tokenizer) -> float:
    """Share of words that are not in the vocabulary, in percent.

    Args:
        texts: At least one text that is not blank.
        vocabulary: A `Vocabulary`, or any container of words.
        tokenizer: `Tokenizer` that says what a word is.
    """
    pairs = ((text,) for text in texts)
    (counts,) = count_words(pairs, [tokenizer], progress=False)
    unknown = sum(n for word, n in counts.items() if word not in vocabulary)
    return 100 * unknown / counts.total()


def _scores(counts, number) -> list[int]:
    """Scores 1 to 5, in the proportions of `counts`."""
    quotas = [number * count / sum(counts) for count in counts]
    shares = [int(quota) for quota in quotas]
    rest = sorted(range(5), key=lambda i: shares[i] - quotas[i])
    for i in rest[: number - sum(shares)]:
        shares[i] += 1
    return [i for i, share in enumerate(shares, 1) for _ in range(share)]


def _is_there(folder: str, key: str) -> bool:
    files = [os.path.join(folder, name) for name in _FILES.values()]
    present = list(filter(filesystem.exists, files))
    record = os.path.join(folder, _RECORD_OF)
    if present and not filesystem.exists(record):
        raise CorpusError(
            f"{present[0]} is there, but no {_RECORD_OF}: it is not "
            "of the generated news, which would replace it. Choose another "
            "folder with --data_dir."
        )
    if len(present) < len(_FILES):
        return False
    with filesystem.open(record) as file:
        return file.read() == key


def _write_all(folder, sizes, script, seed, key):
    def save(name, text):
        write_atomically(
            os.path.join(folder, name), lambda f: f.writelines(text)
        )

    save(_RECORD_OF, [])  # until all parts are there
    for (split, name), number in zip(_FILES.items(), sizes):
        records = generate(split, number, script=script, seed=seed)
        title = f"News, {split}"
        records = tqdm.tqdm(records, title, number, unit=" pairs", disable=None)
        save(name, map(_format, itertools.count(), records))
    save(_RECORD_OF, [key.encode()])


def _format(number, record) -> bytes:
    score, text, summary = record
    label = f"    <human_label>{score}</human_label>\n" if score else ""
    return (
        f"<doc id={number}>\n{label}"
        f"    <summary>\n        {summary}\n    </summary>\n"
        f"    <short_text>\n        {text}\n    </short_text>\n"
        "</doc>\n"
    ).encode()


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that stale news is never read."""
    sample = [list(generate("test", 50, script=script)) for script in SCRIPTS]
    return generated_corpus.grammar_fingerprint(
        ("newsgen_words", "newsgen_patterns"), sample
    )
