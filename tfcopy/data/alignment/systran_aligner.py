"""Word alignment by systran-align, a port of fast_align.

It is an optional extra (`align`) and not bundled: its metadata (3.5.0) names no
licence; fast_align itself has the Apache License 2.0. Its threads add up in any
order, so a few links differ from run to run; OMP_NUM_THREADS=1 gives the same
each time.

Reference: Dyer et al., 2013, A Simple, Fast, and Effective Reparameterization
of IBM Model 2.
"""

import importlib.util
import itertools
import os
import tempfile

import numpy as np
import tqdm

from tfcopy.data.alignment.word_alignment import Links, Sentences

_CHUNK = 4096  # pairs


def is_installed() -> bool:
    return importlib.util.find_spec("systran_align") is not None


def align(
    source: Sentences,
    target: Sentences,
    *,
    rounds: int = 5,
    progress: bool = False,
) -> Links:
    """Aligns pairs in both directions; the links are not all one to one.

    Args:
        source: P sentences.
        target: Their translations.
        rounds: Number of passes over all pairs.
        progress: Whether to show a bar with the time left, once the
            probabilities are learnt.

    Raises:
        ImportError: if systran-align is not installed.
    """
    import systran_align

    pairs = np.flatnonzero(source.lengths * target.lengths)
    if not len(pairs):
        return Links(*np.zeros((3, 0), np.int64))
    # Ids instead of words: none of them is `|||`.
    names = [
        np.arange(1 + side.ids.max()).astype(str) for side in (source, target)
    ]

    def words(i):
        return [
            name[side[i]].tolist()
            for name, side in zip(names, (source, target))
        ]

    with tempfile.TemporaryDirectory() as folder:
        text, forward, backward = (
            os.path.join(folder, name) for name in ("text", "there", "back")
        )
        with open(text, "w", encoding="ascii") as file:
            for i in pairs:
                file.write(" ||| ".join(map(" ".join, words(i))) + "\n")
        systran_align.generate_alignment_probabilities(
            text,
            forward,
            backward,
            iterations=rounds,
            favor_diagonal=True,
            optimize_tension=True,
            variational_bayes=True,
        )
        aligner = systran_align.Aligner(forward, backward)
    bar = tqdm.tqdm(
        desc="Aligning",
        total=len(pairs),
        unit=" pairs",
        unit_scale=True,
        disable=None if progress else True,  # None: not on a terminal
        leave=False,
    )
    chunks = []
    with bar:
        for start in range(0, len(pairs), _CHUNK):
            some = pairs[start : start + _CHUNK]
            rows = zip(*map(words, some))
            results = aligner.align_batch(*map(list, rows))
            links = [sorted(result["alignments"]) for result in results]
            positions = list(itertools.chain.from_iterable(links))
            positions = np.array(positions, np.int64).reshape(-1, 2)
            numbers = np.repeat(some, [len(row) for row in links])
            chunks.append(np.column_stack([numbers, positions]))
            bar.update(len(some))
    return Links(*np.concatenate(chunks).T)
