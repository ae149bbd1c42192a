"""Corpora of pairs that the package generates itself, and keeps in memory."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator

import tqdm

from tfcopy.data.corpora import corpus
from tfcopy.data.generated import text_tables


def load(
    name: str,
    generate: Callable[[str, int, int], Iterator],
    sizes: tuple[int, int, int],
    seed: int,
    *,
    tables: Iterable[str],
    languages: tuple[str, str],
    source_language: str = "en",
    num_sample: int = 200,
) -> corpus.TranslationCorpus:
    """Makes a corpus whose pairs are generated when they are first read.

    No source of a split occurs in an earlier one.

    Args:
        name: Name of the corpus.
        generate: Called with a split, a number of pairs and the seed.
        sizes: Number of pairs of each split.
        seed: Seed of the pairs; they are the same on every machine.
        tables: The tables of the grammar, as in `text_tables.read`.
        languages: Languages of the generated pairs.
        source_language: One of these; if it is the second one, the pairs are
            reversed.
        num_sample: Number of pairs that, with the tables, identify the grammar,
            so that ids of stale pairs are never read.
    """
    step = -1 if languages.index(source_language) else 1
    source, target = languages[::step]
    sample = list(generate("train", num_sample))
    key = name, seed, *sizes, source, grammar_fingerprint(tables, sample)

    @functools.cache
    def pairs():
        seen, found = set(), {}
        for split, number in zip(corpus.SPLITS, sizes):
            # Of the sentences without names, some come again.
            drawn = generate(split, 2 * number + 100, seed)
            fresh = (pair for pair in drawn if pair[0] not in seen)
            fresh = itertools.islice(fresh, number)
            title = f"{name}, {split}"
            bar = tqdm.tqdm(fresh, title, number, unit=" pairs", disable=None)
            found[split] = list(bar)
            seen |= {source for source, _ in found[split]}
        return found

    def read(split, number):
        return (pair[::step] for pair in pairs()[split])

    return corpus.TranslationCorpus(
        name=name,
        source_language=source,
        target_language=target,
        splits=corpus.generate_splits(read, sizes, (), *key),
        generated=True,
    )


def grammar_fingerprint(tables: Iterable[str], sample) -> str:
    """Changes with a grammar's tables, and with the text it makes from them.

    Args:
        tables: Their names, as in `text_tables.read`.
        sample: Some of that text.
    """
    texts = [list(text_tables.read(name).items()) for name in tables]
    return corpus.fingerprint(texts, sample)[:8]
