"""A base on compiled catalogues, and a project that continues it."""

import dataclasses
import functools
import pathlib
import shutil
import types

import polib
import pytest

from tests.data.generated import demo_catalog_files
from tests.recipes import exporting, starting
from tfcopy.checked_files import read_json, write_json
from tfcopy.data.generated import demo_catalogs
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments import command_line, earlier_run
from tfcopy.experiments.pairs import translation_data
from tfcopy.recipes import catalogs_ps, pydocs_ps
from tfcopy.serving import translate_po
from tfcopy.serving.servables import storage

pytest.importorskip("sentencepiece")

TINY = """--units 8 --encoder_units 8 --embedding_dim 8 --pieces 120 --updates 4
--eval_every 2 --batch_size 8 --max_target_length 40 --num_beams 2
--precision float32 --target_language es""".split()
start = functools.partial(starting.start, catalogs_ps, TINY)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    demo_catalog_files.write_catalogs(folder, 60, num_files=1, seed=1)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    paths = demo_catalog_files.write_catalogs(folder / "po", 300)
    for number, path in enumerate(paths):
        compiled = folder / "locale/es/LC_MESSAGES" / f"program{number}.mo"
        compiled.parent.mkdir(parents=True, exist_ok=True)
        polib.pofile(path).save_as_mofile(compiled)
    assert start(folder, f"--catalogs={folder}/locale") == 0
    return folder


def test_the_demo_is_that_of_the_documentation():
    """So that its figures are those of `pydocs_ps`."""
    made = [
        dataclasses.asdict(command_line.parse(recipe.Config, []))
        for recipe in (catalogs_ps, pydocs_ps)
    ]
    for values in made:
        for name in ("mix", "log_dir", "savedmodel_dir"):
            values.pop(name, None)
    assert made[0] == made[1]


def config_of(served):
    return read_json(pathlib.Path(served, "assets.extra", "tfcopy.json"))


def test_a_run_remembers_how_good_it_is(base):
    results = starting.check_report(base)
    scores = results["systems"]["pointer_softmax"]
    assert len(scores["held_out"]) == 1 and 0 <= scores["right"] <= 100
    assert scores["calibration"] == []  # of too few texts
    assert config_of(results["savedmodel"])["scores"] == scores
    card = pathlib.Path(results["savedmodel"], "README.md").read_text()
    count, (program,) = scores["texts"], scores["held_out"]
    assert f"Of {count:,} translations of programs ({program}) held" in card
    assert "% were right as they stood" in card


@pytest.mark.long
def test_another_export_remembers_it_if_it_is_the_same(base):
    scores = starting.results(base)["systems"]["pointer_softmax"]
    run = base / "logs" / "demo"
    _, remembered = exporting.rebuilt(run)
    assert remembered["scores"] == scores
    _, changed = exporting.rebuilt(run, "--set", "num_beams=1")
    assert "scores" not in changed


@pytest.mark.long
def test_what_is_exported_tells_it(base, project, tmp_path, capsys):
    (path,) = project.rglob("*.po")
    served = starting.results(base)["savedmodel"]
    output = ["--output", str(tmp_path / "filled.po")]
    assert translate_po.main([served, str(path), *output]) == 0
    assert "held out of its catalogues" in capsys.readouterr().out
    assert "# tfcopy: score -" in (tmp_path / "filled.po").read_text()


@pytest.mark.long
def test_a_project_keeps_the_bases_subwords(base, project, tmp_path, capsys):
    run = base / "logs" / "demo"
    arguments = [f"--catalogs={project}", "--preset=project"]
    assert start(tmp_path, f"--init_from={run}", *arguments) == 0
    printed = capsys.readouterr().out
    counts = starting.results(tmp_path)["pairs"]["train"]
    num_mixed = (counts["left"] + counts["too_long"]) // 2
    assert f"{num_mixed} texts of {run} are added." in printed
    assert "pointer_softmax: 37 of 37 taken.\n" in printed
    own, theirs = (
        config_of(starting.results(x)["savedmodel"]) for x in (tmp_path, base)
    )
    assert own["source_tokenizer"] == theirs["source_tokenizer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "project"], "--preset project needs --init_from"),
        (["--init_from", "{}/nowhere"], "--init_from: .*nowhere"),
        (["--init_from", "{}"], "--init_from .*: not a run's folder"),
        (["--hold_out", "vim"], "--hold_out names vim"),
        (["--mix", "2"], "--mix needs --init_from"),
    ],
)
def test_a_wrong_flag_is_named(project, tmp_path, capsys, arguments, message):
    arguments = [x.format(project) for x in arguments]
    arguments += ["--catalogs", str(project)]
    starting.check_refused(start, capsys, tmp_path, arguments, message)


@pytest.mark.parametrize("flag", ["--hold_out=vim", "--names=true"])
def test_flags_of_catalogs_need_some(tmp_path, capsys, flag):
    message = f"{flag.split('=')[0]} needs --catalogs"
    starting.check_refused(start, capsys, tmp_path, [flag], message)


@pytest.fixture
def continue_base(project, monkeypatch):
    """Continues a base of the same texts, of which it holds out others."""
    flags = {"catalogs": str(project), "target_language": "es"}

    def continued(tokenizer, change=lambda: None):
        words = types.SimpleNamespace(path="words")
        served = types.SimpleNamespace(
            source_tokenizer=tokenizer,
            target_tokenizer=tokenizer,
            source_vocabulary=words,
            target_vocabulary=words,
        )
        then = catalogs_ps.Config(**flags, seed=1)
        corpus = translation_data.load_corpus(then, demo_catalogs)
        details = {
            "recipe": "catalogs_ps",
            "flags": {**flags, "seed": 1},
            "corpus": corpus.fingerprint,
        }
        base = storage.StoredServable(served, [], details)
        change()
        monkeypatch.setattr(earlier_run, "load", lambda *_: ("", base))
        config = catalogs_ps.Config(**flags, init_from="base", mix=9.0)
        corpus = translation_data.load_corpus(config, demo_catalogs)
        return catalogs_ps._extend_base(config, corpus)

    return continued


def test_texts_of_the_test_set_are_not_added(continue_base):
    config, corpus = continue_base(SentencepieceTokenizer("pieces"))
    assert config.protect == []
    train, *others = (
        {source for source, _ in corpus.splits[name]}
        for name in ("train", "validation", "test")
    )
    assert train and all(others) and train.isdisjoint(set.union(*others))


def test_a_base_whose_corpus_has_changed_is_refused(continue_base, project):
    (path,) = project.rglob("*.po")
    before = path.read_text()

    def change():
        path.write_text(before.replace('msgstr "', 'msgstr "Ya ', 9))

    try:
        with pytest.raises(ValueError, match="not what the base was trained"):
            continue_base(SentencepieceTokenizer("pieces"), change)
    finally:
        path.write_text(before)


def test_a_base_without_subwords_is_refused(continue_base):
    with pytest.raises(ValueError, match="--init_from base: .* subwords"):
        continue_base(Tokenizer("space"))


def test_a_project_needs_its_catalogs(tmp_path, capsys):
    arguments = [f"--init_from={tmp_path}", "--preset=project"]
    message = "--preset project needs .* and --catalogs"
    starting.check_refused(start, capsys, tmp_path, arguments, message)


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({}, 'is damaged .it has no "recipe"'),
        ({"recipe": "pydocs_ps", "flags": {}}, "a run of pydocs_ps, not of"),
        ({"flags": {}}, "from en to fr, not from en to es"),
    ],
)
def test_a_base_that_does_not_fit_is_refused(
    project, tmp_path, capsys, monkeypatch, details, message
):
    details = details and {"recipe": "catalogs_ps", **details}
    stored = storage.StoredServable(None, [], details)
    monkeypatch.setattr(earlier_run, "load", lambda *_: ("", stored))
    arguments = [f"--init_from={tmp_path}", f"--catalogs={project}"]
    starting.check_refused(start, capsys, tmp_path, arguments, message)


@pytest.mark.long
def test_the_texts_of_a_base_may_have_gone(base, tmp_path, capsys):
    run = shutil.copytree(base / "logs" / "demo", tmp_path / "run")
    path = run / "pointer_softmax" / "servable.json"
    stored = read_json(path)
    stored["details"]["flags"]["catalogs"] = str(tmp_path / "nowhere")
    write_json(path, stored)
    arguments = [f"--init_from={run}", f"--catalogs={base}/locale"]
    message = "--init_from .*run: .*nowhere.* With --mix 0 its texts are not"
    starting.check_refused(start, capsys, tmp_path, arguments, message)
