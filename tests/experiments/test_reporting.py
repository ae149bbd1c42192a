"""Dev scores of a run, told and compared, and what they choose."""

import importlib
import runpy
import sys
import types
import typing

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import plugin_event_accumulator

import tfcopy
from tfcopy import figures
from tfcopy.experiments import config, reporting
from tfcopy.experiments import reporting as optional
from tfcopy.experiments.definitions import (
    answering_systems,
    entailment_systems,
    next_word_systems,
)
from tfcopy.recipes import europarl_ps
from tfcopy.terminal import to_one_line


def test_tables_show_whole_numbers_whole_and_what_is_missing_not(capsys):
    rows = {
        "pag": {"bleu": 28.8649999, "parameters": 32_073_427},
        "pag, paper": {"bleu": 22},
    }
    columns = {"BLEU": "bleu", "weights": "parameters", "chrF": "chrf"}
    reporting.print_table(rows, columns)
    assert capsys.readouterr().out.splitlines() == [
        "",
        "              BLEU     weights  chrF",
        "pag         28.865  32,073,427      ",
        "pag, paper      22                  ",
    ]


@pytest.mark.parametrize(
    ("are_parts", "expected"),
    [(False, "⟨s⟩ ▁ [B] [o] ▁ [A]"), (True, "[Bo] [A]")],
)
def test_what_is_copied_is_marked(are_parts, expected):
    translation = types.SimpleNamespace(
        tokens=["⟨s⟩", "▁", "B", "o", "▁", "A"],
        copied_from=[-1, -1, 3, 4, -1, 0],
    )
    assert reporting.mark_copied(translation, are_parts) == expected


WILD = "a\x1b[2J\x00\r\nb\x9b\u2028c"


class Texts(list):
    """Stands for `WordTexts`: two wild words, three times."""

    texts = ("premise", "hypothesis")
    labels: typing.ClassVar = {"label": [0] * 3}

    def tokens(self, *_):
        return [WILD, WILD]


def print_marked():
    found = types.SimpleNamespace(tokens=[WILD], copied_from=[0])
    reporting.print_marked_examples([(WILD, WILD)], {"a": [found]})


def print_answers():
    text = types.SimpleNamespace(text=WILD)
    example = types.SimpleNamespace(context=WILD, question=WILD, answers=[text])
    question = types.SimpleNamespace(example=example)
    answering_systems.print_examples([question], {"B": [text]})


def print_translations():
    found = types.SimpleNamespace(text=WILD)
    reporting.print_answers(
        types.SimpleNamespace(translate_all=lambda *_, **__: [found]), [WILD]
    )


@pytest.mark.parametrize(
    "show",
    [
        print_marked,
        print_answers,
        print_translations,
        lambda: next_word_systems.print_examples(
            Texts("abc"), {"B": [[1.0, 2.0]] * 3}, ()
        ),
        lambda: entailment_systems.print_examples(
            Texts("abc"), {"B": np.eye(3)}
        ),
    ],
)
def test_texts_are_printed_as_ask_prints_them(show, capsys):
    """In one line, without what a terminal may obey."""
    show()
    lines = capsys.readouterr().out.split("\n")
    assert all(map(str.isprintable, lines))
    expected = to_one_line(WILD)
    assert sum(expected in line for line in lines) > 1


def test_pictures_cannot_be_imported_where_matplotlib_is_missing(monkeypatch):
    # On import, where `common` expects it, not at the first picture.
    for name in list(sys.modules):
        if name.split(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
        elif name.startswith("tfcopy.figures"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="matplotlib"):
        importlib.import_module("tfcopy.figures")
    assert optional_figures() is None


def test_only_matplotlib_may_be_missing(monkeypatch):
    """Any other failure of the pictures' import is an error."""
    assert optional_figures() is figures
    monkeypatch.delattr(tfcopy, "figures")
    monkeypatch.delitem(sys.modules, "tfcopy.figures")
    monkeypatch.setitem(sys.modules, "tfcopy.figures.word_grid", None)
    with pytest.raises(ImportError, match="tfcopy.figures.word_grid"):
        optional_figures()


def optional_figures():
    return runpy.run_path(optional.__file__)["figures"]


@pytest.mark.parametrize(
    ("flags", "is_shown"),
    [
        ({}, True),
        ({"data_dir": "europarl"}, True),
        ({"train": ["a", "b"]}, False),
        ({"prepared": "a"}, False),
        ({"catalogs": "a"}, False),
        ({"tfds": "a"}, False),
        ({"preset": "paper", "train": ["a"]}, True),
    ],
)
def test_the_paper_is_not_beside_data_of_ones_own(flags, is_shown):
    config = europarl_ps.Config(**flags)
    paper = {"nmt": {"bleu": 20.19}}
    assert reporting.comparable_paper_scores(config, paper) == (
        paper if is_shown else {}
    )


RESULTS = {
    "nmt": {"history": {"updates": [5, 10, 15], "nll": [9.0, 4.0, 4.5]}},
    "copynet": {"history": {"updates": [5, 10, 15], "nll": [4.0, 2.0, 1.0]}},
    "slow": {"history": {"updates": [5, 10, 15], "nll": [9.0, 8.0, 7.0]}},
}


def encoded(num_tokens, num_pairs):
    class Encoded:
        num_target_tokens = num_tokens

        def __len__(self):
            return num_pairs

    return Encoded()


def test_history_is_nats_a_target():
    result = types.SimpleNamespace(dev_history=[(5, 2.0), (10, 0.5)])
    found = reporting.history(result, encoded(30, 10))
    unit = "nats per target text"
    assert found == {"updates": [5, 10], "nll": [6.0, 1.5], "unit": unit}


def test_history_of_nothing():
    empty = {"updates": [], "nll": [], "unit": "nats per target text"}
    result = types.SimpleNamespace(dev_history=[])
    assert reporting.history(result, encoded(1, 1)) == empty
    reporting.print_lead({"nmt": {"history": empty}})


def test_lead_is_told(capsys):
    reporting.print_lead(RESULTS)
    assert capsys.readouterr().out.splitlines() == [
        f"nmt's best dev score, 4 nats per target after 10 updates, was {what}."
        for what in (
            "reached by copynet after 5",
            "not reached by slow, whose best is 7",
        )
    ]


def bleu(score, low, high, **more):
    return {"bleu": score, "bleu_interval": [low, high], **more}


A_100 = bleu(100.0, 90.0, 100.0)
A_100_MORE = {**A_100, "interval": [0.0, 1.0], "part": {"errors": 2.0}}
PARTS = {x: {"part": {"errors": n}} for x, n in zip("ab", (3.111, 14.9))}
EXACT = {x: {"exact_match": 9, "interval": [8, 10]} for x in "ab"}
MISSING = {"a": {"part": {"errors": None, "interval": None}}}
CLOSE = "too close to tell"
NOT_COMPARED = "Not compared: this run does not have both figures."


@pytest.mark.parametrize(
    ("metric", "results", "seen", "figures"),
    [
        (
            "bleu",
            {"a": A_100_MORE, "b": bleu(50, 40, 60)},
            "yes",
            "100 50 BLEU",
        ),
        # Within noise, and ahead of it the wrong way round.
        (
            "bleu",
            {"a": A_100, "b": bleu(89.12, 80, 91)},
            CLOSE,
            "100 89.12 BLEU",
        ),
        ("bleu", {"b": A_100, "a": bleu(5, 4, 6)}, "no", "5 100 BLEU"),
        # Less is better; no interval.
        ("-part.errors", PARTS, "yes", "3.111 14.9 %"),
        ("-part.errors", dict.fromkeys("ab", A_100_MORE), CLOSE, "2 2 %"),
        ("exact_match", EXACT, CLOSE, "9 9 %"),
        # The system, or what is counted.
        ("-part.errors", MISSING, None, None),
    ],
)
def test_claims_are_judged(metric, results, seen, figures):
    claim = "a does better than b"

    @config.configuration("my_recipe", claims={claim: metric})
    class Config(config.RunConfig):
        train: list[str] | None = config.corpus_file("Files.")

    own = reporting.judge(Config(train=["mine"]), results)[0]["sentence"]
    (judged,) = reporting.judge(Config(), results)
    assert judged["seen"] == seen and list(judged["figures"]) == ["a", "b"]
    sentence = NOT_COMPARED
    if figures is not None:
        a, b, unit = figures.split()
        sentence = f"{a} against {b} {unit} ({seen})"
        assert own == f"The paper: {claim}. Seen: {sentence}."
        start = "Seen: " if seen == "yes" else "Not seen here: "
        end = "." if seen == "yes" else "; see docs/results.md."
        sentence = f"{start}{sentence}{end}"
    assert judged["sentence"] == f"Expected: {claim}. {sentence}"


def test_picture_is_on_disk_and_in_tensorboard(tmp_path):
    pytest.importorskip("matplotlib")
    reporting.draw(RESULTS, str(tmp_path), "nats per sentence")
    image = tf.io.decode_png((tmp_path / "dev_nll.png").read_bytes())
    assert image.shape[:2] == (400, 500)
    events = plugin_event_accumulator.EventAccumulator(
        str(tmp_path / "all_systems")
    )
    events.Reload()
    assert events.Tags()["tensors"] == ["dev_nll"]


def test_without_matplotlib_nothing_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(reporting, "figures", None)
    reporting.draw(RESULTS, str(tmp_path), "nats per sentence")
    assert not list(tmp_path.iterdir())


def test_full_disk_ends_nothing(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reporting.figures, "save_png", full)
    reporting.draw(RESULTS, str(tmp_path), "nats per sentence")
    assert "no more events are written" in capsys.readouterr().out


def test_the_best_score_chooses():
    choice = reporting.best("bleu", {"a": 1.0, "b": 3.0, "c": 2.0})
    assert (choice.system, choice.metric) == ("b", "bleu")
    assert choice.scores == {"a": 1.0, "b": 3.0, "c": 2.0}
    errors = reporting.best("error_rate", choice.scores, lowest=True)
    assert errors.system == "a"


def test_of_equal_systems_the_papers_is_exported():
    scores = {"baseline": 2.0, "worse": 1.0, "papers": 2.0}
    assert reporting.best("bleu", scores).system == "papers"


def system(*answers):
    """A system that gives these answers."""

    def translate_all(sources):
        assert sources == ("x", "y")
        return [types.SimpleNamespace(text=text) for text in answers]

    return types.SimpleNamespace(
        served=types.SimpleNamespace(translate_all=translate_all)
    )


@pytest.fixture
def pairs(monkeypatch):
    """Validation pairs, of which the first two choose."""
    monkeypatch.setattr(reporting, "_NUM_EXAMPLES", 2)
    return iter([("x", "1"), ("y", "2"), ("z", "3")])


def share_right(texts, references):
    right = [x == y for x, y in zip(texts, references, strict=True)]
    return 100 * sum(right) / len(right)


def test_the_best_answers_choose(pairs):
    systems = {
        "a": system("1", "0"),
        "b": system("1", "2"),
        "c": system("", ""),
    }
    choice = reporting.best_answers("match", systems, pairs, share_right)
    assert choice.system == "b"
    assert choice.scores == {"a": 50.0, "b": 100.0, "c": 0.0}


def test_one_system_needs_no_answers(pairs):
    choice = reporting.best_answers("m", {"a": None}, pairs, share_right)
    assert (choice.system, choice.scores) == ("a", {})
