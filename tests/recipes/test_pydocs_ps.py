"""The whole command on small catalogues, and what can be wrong in it."""

import contextlib
import functools

import pytest

from tests.data.generated import demo_catalog_files
from tests.recipes import exporting, starting
from tests.recipes.starting import results
from tfcopy.data import train_sentencepiece
from tfcopy.experiments import run as run_module
from tfcopy.recipes import pydocs_ps

pytest.importorskip("sentencepiece")

TINY = """--units 8 --encoder_units 8 --embedding_dim 8 --pieces 120 --updates 4
--eval_every 2 --batch_size 8 --max_target_length 40 --num_beams 2""".split()

KEPT = {"spans_kept", "texts_kept", "texts_exact", "bleu", "chrf"}

start = functools.partial(starting.start, pydocs_ps, TINY)


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("catalogs")
    demo_catalog_files.write_catalogs(folder, 150)
    return str(folder)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, catalogs):
    folder = tmp_path_factory.mktemp("finished")
    glossary = folder / "terms.tsv"
    glossary.write_text("file\tfichero\n")
    arguments = ["--catalogs", catalogs, "--glossary", str(glossary)]
    arguments += ["--sample_pieces", "0.2", "--systems", "[pointer_softmax]"]
    with (
        open(folder / "printed", "w") as printed,
        contextlib.redirect_stdout(printed),
    ):
        assert start(folder, *arguments) == 0
    return folder


def test_results_hold_what_is_kept(finished):
    systems = starting.check_report(finished)["systems"]
    assert list(systems) == ["pointer_softmax"]
    for scores in (
        systems["pointer_softmax"],
        systems["pointer_softmax"]["must_copy"],
    ):
        assert KEPT <= set(scores)
    assert systems["pointer_softmax"]["must_copy"]["spans_kept"] == 100
    assert systems["pointer_softmax"]["spans_kept"] < 40
    assert (finished / "logs" / "demo" / "dev_nll.png").exists()


def test_the_table_has_all_searches(finished):
    table = (finished / "printed").read_text()
    # Examples have words, not the pieces that the model says.
    assert "pieces [copied] from the source" in table and "▁" not in table
    assert "pointer_softmax, must copy" in table


@pytest.mark.long
def test_a_baseline_keeps_what_it_attends_to(
    tmp_path, catalogs, capsys, monkeypatch
):
    monkeypatch.setattr(run_module, "export", lambda *_, **__: "served/1")
    assert start(tmp_path, "--catalogs", catalogs, "--systems", "[nmt]") == 0
    systems = results(tmp_path)["systems"]
    assert list(systems) == ["nmt"]
    for scores in (systems["nmt"], systems["nmt"]["unk_replaced"]):
        assert KEPT <= set(scores)
    assert "UNK replaced" in capsys.readouterr().out


def test_the_command_rebuilds_what_was_exported(finished):
    exporting.check_rebuilt(finished)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protect", '["("]'], "--protect: "),
        (["--protect", "x*"], r"--protect: 'x\*' matches the empty"),
        (["--protect", "null"], "--must_copy needs --protect"),
        (
            ["--protect", "null", "--must_copy", "false", "--glossary", "{}"],
            "--glossary needs --protect",
        ),
        (["--glossary", "{}"], "line 1: expected phrase<TAB>translation"),
        (["--glossary", "nothing.tsv"], "--glossary: .*nothing.tsv"),
        (["--pieces", "3"], "--pieces"),
        (
            ["--tokenization", "space", "--pieces", "null"]
            + ["--sample_pieces", "0.2"],
            "--sample_pieces needs --tokenization sentencepiece; it is space",
        ),
        (["--sample_pieces", "0"], "--sample_pieces"),
        (["--catalogs", "{}"], "terms.tsv"),
        (["--catalogs", "nowhere"], "nowhere"),
        (["--data_dir", "/bin"], "--data_dir needs --tfds"),
        (["--target_language", "xx"], "xx"),
    ],
)
def test_a_wrong_flag_is_named(tmp_path, catalogs, capsys, arguments, message):
    path = tmp_path / "terms.tsv"
    path.write_text("no tab\n")
    arguments = ["--catalogs", catalogs, *(x.format(path) for x in arguments)]
    starting.check_refused(start, capsys, tmp_path, arguments, message)


def test_pieces_that_cut_spans_are_refused(tmp_path, catalogs, capsys):
    texts = ["the file is not there", "a file that is there"] * 20
    model = str(tmp_path / "cutting.model")
    train_sentencepiece.train(texts, 274, model, byte_fallback=True)
    arguments = ["--catalogs", catalogs, "--sentencepiece_model", f"[{model}]"]
    assert start(tmp_path, *arguments) == 2
    assert "cutting.model'] cuts the character" in (capsys.readouterr().err)
