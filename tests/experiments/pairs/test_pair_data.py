"""Pairs that are left out are reported, and their links as well."""

import numpy as np
import pytest

from tfcopy.experiments.pairs import translation_data, translation_systems
from tfcopy.recipes import europarl_ps

BLANKS = ["", " \t", "\u200b", "\ufeff", "\u2060", "\0", "\x85", "\u200d\u3000"]
NAMES = ("read", "blank", "too_long", "duplicates", "unlike", "left")


@pytest.fixture
def files(tmp_path):
    """Texts of 120 pairs, 40 of them blank and 3 too long; their links."""
    lines = [(f"name{i} calls {i % 5}", f"{i % 5} appelle") for i in range(120)]
    for i in range(40):
        blank = BLANKS[i % len(BLANKS)]
        sides = lines[3 * i]
        lines[3 * i] = (sides[0], blank) if i % 2 else (blank, sides[1])
    for i in (1, 61, 118):
        lines[i] = ("long " * 60, "long")
    paths = [tmp_path / name for name in ("a.en", "a.fr", "links")]
    links = ["0-0" if i % 3 == 1 else "2-1" for i in range(120)]
    for path, side in zip(paths, [*zip(*lines), links]):
        path.write_text("".join(f"{x}\n" for x in side), encoding="utf-8")
    return [str(path) for path in paths]


@pytest.mark.parametrize("guided", [False, True])
def test_each_pair_that_is_left_out_is_told(files, tmp_path, capsys, guided):
    config = europarl_ps.Config(
        train=files[:2],
        guided_alignment=files[2] if guided else None,
        batch_size=4,
    )
    corpus = translation_data.load_corpus(config)
    for folder in ("one", "one", "other"):  # From its cache as well.
        data = translation_systems.prepare(config, corpus, tmp_path / folder)
        assert data.pairs == {
            "train": dict(zip(NAMES, (112, 40, 3, 0, 0, 69))),
            "validation": dict(zip(NAMES, (4, 0, 0, 0, 0, 4))),
            "test": dict(zip(NAMES, (4, 0, 0, 0, 0, 4))),
        }
        assert capsys.readouterr().out.splitlines()[1:] == [
            "train: 112 pairs read, 43 left out (40 blank, 3 too long), 69 "
            "left",
            "validation: 4 pairs read, none left out",
            "test: 4 pairs read, none left out",
        ]
    if not guided:
        return
    kept = [pair for pair in corpus.train if len(pair[0]) < 99]
    for row, (source, _) in enumerate(kept):
        number = int(source.split()[0].removeprefix("name"))
        weights = data.train.alignment.weights(np.array([row]), (4, 3))[0]
        places = (0, 0) if number % 3 == 1 else (1, 2)
        assert np.argwhere(weights).tolist() == [list(places)]
