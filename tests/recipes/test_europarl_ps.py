"""The whole command on tiny files, and everything that can be wrong."""

import dataclasses
import errno
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import types

import numpy as np
import pytest
import tensorflow as tf

from tests.recipes import exporting, starting
from tests.recipes.starting import figures, results
from tfcopy.data.generated import demo_parliament
from tfcopy.data.pairs import sampled_vocabulary
from tfcopy.data.pairs.encoding import encode
from tfcopy.data.text import vocabulary
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments import command_line
from tfcopy.experiments import run as run_module
from tfcopy.experiments.pairs import (
    pointer_softmax_systems,
    translation_data,
    translation_systems,
)
from tfcopy.experiments.pairs.pair_training import SamplePictures
from tfcopy.recipes import europarl_ps
from tfcopy.runtime.litert_engine import Programs
from tfcopy.runtime.local_model import LocalModel
from tfcopy.serving.servables.translator import Translator
from tfcopy.tokens import SPECIAL_TOKENS
from tfcopy.training.checkpoints import Checkpoints

pytestmark = pytest.mark.optimised_graphs

TINY = """--units 8 --encoder_units 8 --embedding_dim 8 --updates 4
--eval_every 2 --batch_size 8 --max_target_length 6 --num_beams 2
--systems [pointer_softmax]""".split()
NUM_PAIRS = 60

start = functools.partial(starting.start, europarl_ps, TINY)


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def pair(one, other):
    return f"[{one}, {other}]"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Files of 60 pairs, of which one is blank and one 10,000 words long."""
    folder = tmp_path_factory.mktemp("corpus")
    paths = []
    for the, name in (("the", "a.en"), ("le", "a.fr")):
        lines = [
            f"{the} name{i} is {i % 7} ." + " short" * (i % 2)
            for i in range(NUM_PAIRS)
        ]
        lines += ["" if the == "le" else "blank", "long " * 10_000]
        paths.append(write(folder / name, "\n".join(lines) + "\n"))
    return pair(*paths)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("finished")
    assert start(folder, "--train", corpus) == 0
    return folder


# === What it writes ===


def test_results_hold_what_was_agreed(finished):
    found = starting.check_report(finished, "pairs")
    # The only one: no score chose it.
    assert found["exported"] == "pointer_softmax"
    by = {"split": "validation", "metric": "bleu", "scores": {}}
    assert found["exported_by"] == by
    assert found["recipe"] == "europarl_ps" and found["preset"] == "demo"
    assert found["config"]["units"] == 8
    assert found["paper"] == {}  # It is of other data.
    few = {"read": 3, "blank": 0, "too_long": 0, "duplicates": 0}
    few |= {"unlike": 0, "left": 3}
    train = few | {"read": 56, "blank": 1, "too_long": 1, "left": 54}
    assert found["pairs"] == {"train": train, "validation": few, "test": few}
    scores = found["systems"]["pointer_softmax"]
    expected = """parameters updates bleu chrf unk_rate copy_rate perplexity
        seconds_training target_tokens_per_second"""
    assert set(expected.split()) <= set(scores)
    assert scores["updates"] == 4
    assert scores["history"]["updates"] == [2, 4]
    assert (finished / "logs" / "demo" / "dev_nll.png").exists()


@pytest.mark.long
def test_programs_are_exported_and_tested(finished, corpus, tmp_path, capsys):
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    assert start(folder, "--train", corpus, "--litert", "int8") == 0
    out = capsys.readouterr().out
    config = exporting.config_of(results(folder)["savedmodel"])
    assert f"\nEngines: {config['engines']}\n" in out
    facts = config["litert"]
    assert facts["int8"]["texts"] == 3
    assert config["engines"].startswith(
        f"TensorFlow; LiteRT in {facts['precision']} ("
    )
    with LocalModel(results(folder)["savedmodel"], engine="litert") as model:
        assert len(model.translate(["the name3 is 3 .", "long " * 199])) == 2
    # Between the longest text in training and `max_source_length` is nothing.
    assert Programs(
        f"{results(folder)['savedmodel']}/assets.extra/search.tflite"
    ).sizes["free"] == [16, 256]
    served, _ = exporting.rebuilt(folder / "logs" / "demo")
    assert served.litert == facts["precision"]


@pytest.mark.long
def test_finished_run_is_not_trained_again(
    finished, corpus, tmp_path, capsys, monkeypatch
):
    # Texts are translated again: in a copy, whose results then hold new times.
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    before, path = figures(folder), results(folder)["savedmodel"]
    monkeypatch.setattr(run_module, "export", lambda *_, **__: path)  # slow
    # Nor are its words counted again.
    monkeypatch.delattr(vocabulary, "count_words")
    seconds = results(folder)["systems"]["pointer_softmax"]["seconds_training"]
    assert start(folder, "--train", corpus) == 0
    out, err = capsys.readouterr()
    assert not re.search("^update", err, re.MULTILINE)
    assert "\r" not in out + err and "\033" not in out + err
    assert figures(folder) == before
    after = results(folder)["systems"]["pointer_softmax"]
    assert after["seconds_training"] == seconds


@pytest.mark.long
def test_the_command_exports_the_same_model_without_the_corpus(
    finished, monkeypatch, capsys
):
    monkeypatch.delattr(translation_data, "load_corpus")
    path = exporting.check_export(finished)
    out = capsys.readouterr().out
    assert "System: pointer_softmax, which the run exported." in out
    assert exporting.config_of(path)["checkpoint"] == "best"


@pytest.mark.slow
def test_interrupted_run_ends_as_an_undisturbed_one(
    tmp_path, finished, corpus, capsys, monkeypatch
):
    """Stopped while counting words, training and translating.

    It can be exported as soon as there is a checkpoint.
    """
    run, to = tmp_path / "logs" / "demo", tmp_path / "exported"
    statuses = []
    for place, name, number in [
        (vocabulary, "count_words", signal.SIGINT),
        (SamplePictures, "__call__", signal.SIGTERM),
        (translation_systems, "answer", signal.SIGINT),
    ]:
        function = getattr(place, name)

        def interrupted(*arguments, **options):
            os.kill(os.getpid(), number)
            return function(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(place, name, interrupted)
            assert start(tmp_path, "--train", corpus) == 128 + number
        error = capsys.readouterr().err
        assert re.search(r"Repeat\s+the\s+command\s+to\s+resume", error)
        statuses.append(exporting.export(run, "--to", to))
    assert statuses == [2, 0, 0] and sorted(os.listdir(to)) == ["1", "2"]
    assert start(tmp_path, "--train", corpus) == 0
    assert figures(tmp_path) == figures(finished)


# === A corpus, a vocabulary or a folder that is no good ===

LONG = "w " * 60 + "\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("a\nb\n", b"a\ncaf\xe9\n"), "b.fr, line 2: not valid UTF-8"),
        ((LONG * 9, LONG * 9), "7 a side of more than 50 tokens"),
    ],
    ids="utf8 long".split(),
)
@pytest.mark.parametrize("flag", ["train", "validation"])
def test_bad_corpus(tmp_path, corpus, capsys, files, message, flag):
    message = message.replace("7 a side", r"\d a side")
    one, other = (
        write(tmp_path / name, data)
        for name, data in zip(("a.en", "b.fr"), files)
    )
    arguments = ["--train", corpus, f"--{flag}", pair(one, other)]
    assert_error(capsys, tmp_path, arguments, message)


def test_bad_vocabulary(tmp_path, corpus, capsys):
    path = write(tmp_path / "words.txt", "one\ntwo\n")
    arguments = ["--train", corpus, "--target_vocabulary", path]
    message = f"--target_vocabulary: {path}, line 1: not a vocabulary"
    assert_error(capsys, tmp_path, arguments, message)


def assert_error(capsys, folder, arguments, message, status=2):
    """One line that says what is wrong, and no traceback."""
    capsys.readouterr()
    assert start(folder, *arguments) == status
    lines = capsys.readouterr().err.strip().splitlines()
    assert re.match(f"europarl_ps: .*{message}", lines[-1]), lines
    assert not any("Traceback" in line for line in lines)


# === A run that cannot go on ===


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--units 9", "from another run: .*there and .* here.*--fresh"),
        ("--learning_rate 1", "--learning_rate is 0.002 there and 1.0 here"),
        ("--switch_activation relu", "--switch_activation is 'noisy_tanh'"),
        ("--max_length 5", "--max_length is 50 there and 5 here"),
        ("--train {changed}", "training data is '.*' there and"),
        ("--validation {changed}", "(training|validation) data is '.*' there"),
        ("--source_vocabulary {words}", "vocabulary of the source is '.*' th"),
    ],
)
def test_resumed_with_other_flags(
    tmp_path, finished, corpus, capsys, arguments, message
):
    """It is refused, and what is there stays as it is."""
    logs = finished / "logs" / "demo"
    # Refused runs have made others.
    paths = logs.glob("data/source_vocabulary-*.txt")
    words = min(paths, key=os.path.getmtime).read_text().splitlines()
    words[4] = "new"
    paths = {
        "words": write(tmp_path / "v.txt", "\n".join(words)),
        "changed": pair(
            *(
                write(tmp_path / name, f"{text} is .\n" * 30)
                for name, text in (("b.en", "new"), ("b.fr", "neuf"))
            )
        ),
    }
    before = starting.files(finished)
    arguments = [x.format(**paths) for x in arguments.split()]
    assert_error(capsys, finished, ["--train", corpus, *arguments], message)
    after = starting.files(finished)
    assert {name: after.get(name) for name in before} == before
    new = {os.path.dirname(name) for name in after.keys() - before.keys()}
    assert new <= {"logs/demo/data"}


@pytest.mark.long
def test_loss_that_is_not_finite(tmp_path, corpus, capsys):
    arguments = ["--train", corpus, "--learning_rate", "1e30"]
    message = r"Update \d \(epoch 0, batch \d\) has loss nan"
    assert_error(capsys, tmp_path, arguments, message)
    for path in Checkpoints(
        tmp_path / "logs" / "demo" / "pointer_softmax" / "checkpoints"
    ).paths():
        with np.load(path) as archive:
            assert all(np.isfinite(archive[k]).all() for k in archive)


@pytest.mark.long
@pytest.mark.parametrize(
    "part", [pytest.param("results", marks=pytest.mark.slow), "served"]
)
def test_full_disk(finished, corpus, capsys, monkeypatch, part):
    before = figures(finished)

    dumps = json.dumps

    def full(*arguments, **options):
        # What results.json holds, and nothing else that is made JSON.
        keys = arguments[0] if isinstance(arguments[0], dict) else ()
        if part == "results" and not {"systems", "seconds"} <= {*keys}:
            return dumps(*arguments, **options)
        if part == "served":
            raise tf.errors.ResourceExhaustedError(
                None, None, "variables; No space left on device"
            )
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        if part == "served":
            disk.setattr(tf.saved_model, "save", full)
            # Traced, they would not be written either.
            disk.setattr(Translator, "signatures", {})
            message = "served: the SavedModel cannot be written .*No space left"
            status = 2
        else:
            disk.setattr(json, "dumps", full)
            message, status = ".*No space left", 1
        assert_error(capsys, finished, ["--train", corpus], message, status)
    assert figures(finished) == before


# === The default command ===


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "bleu", "ahead", "held_out", "least"),
    [
        ("demo", 97, 3, "small_parliament_sentences.txt", 36),
        ("thorough", 99, 2, "parliament_sentences.txt", 40),
    ],
)
def test_demo_translates_what_it_has_never_seen(
    tmp_path, preset, bleu, ahead, held_out, least
):
    """Its names, fixed and shown sentences, better than UNK replacement."""
    arguments = ["--log_dir", str(tmp_path), "--preset", preset]
    status = command_line.main(
        europarl_ps.Config,
        europarl_ps.run,
        [*arguments, "--savedmodel_dir", str(tmp_path / "served")],
    )
    assert status == 0
    with open(tmp_path / preset / "results.json") as file:
        found = json.load(file)
    systems = found["systems"]
    assert systems["pointer_softmax"]["bleu"] >= bleu
    assert systems["pointer_softmax"]["bleu"] > systems["nmt"]["bleu"] + 10
    replaced = systems["nmt"]["unk_replaced"]["bleu"]
    assert systems["pointer_softmax"]["bleu"] >= replaced + ahead
    ask = tf.saved_model.load(found["savedmodel"]).signatures["serving_default"]
    for pairs, number in (
        (fixed_pairs("shown_sentences.txt"), 11),
        (demo_parliament.examples(), 5),
        (fixed_pairs(held_out), least),
    ):
        answers = ask(text=tf.constant([source for source, _ in pairs]))["text"]
        answers = [x.decode() for x in answers.numpy()]
        right = sum(a == b for a, (_, b) in zip(answers, pairs))
        assert right >= number, (answers, pairs)


def fixed_pairs(name):
    """Pairs of a file beside this one, with a blank line after each."""
    path = os.path.join(os.path.dirname(__file__), name)
    with open(path, encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")
    return [tuple(block.split("\n")) for block in blocks]


# What documentation and help let users type, and ask in Python.
SHOWN = re.compile(
    r"""(?:echo\ |printf\ |instances":\ \[|translate\(\[)"([^"]+)""", re.VERBOSE
)


def test_shown_sentences_are_among_those_that_the_demo_has_to_know():
    """The slow test above asks a trained model for all of them."""
    root = pathlib.Path(__file__).parents[2]
    shown = set()
    for name in ("README.md", "docs/**/*.md", "tfcopy/**/*.py", "serving/*"):
        for path in filter(pathlib.Path.is_file, root.glob(name)):
            for line in path.read_text(encoding="utf-8").splitlines():
                if "_definitions" not in line:
                    for texts in SHOWN.findall(line):
                        shown |= set(texts.split(r"\n")) - {"", "..."}
    # The walk shows what becomes of a sentence of another kind, and imported
    # translators have other ones.
    shown -= {"My dog is called Zorro.", "Removing %s from <b>{name}</b>."}
    known = {source for source, _ in fixed_pairs("shown_sentences.txt")}
    assert len(shown) > 5
    assert shown <= known


@pytest.mark.parametrize(
    ("size", "num_train"),
    [
        ("small", 10_000),
        pytest.param("large", 20_000, marks=pytest.mark.long),
        pytest.param("large", 200_000, marks=pytest.mark.slow),
        pytest.param("small", 100_000, marks=pytest.mark.slow),
    ],
)
def test_the_held_out_sentences_are_in_no_training_corpus(size, num_train):
    """Each demo's grammar has drawn 40 pairs once and for all."""
    prefix = "small_" if size == "small" else ""
    pairs = fixed_pairs(f"{prefix}parliament_sentences.txt")
    assert len(set(pairs)) == 40
    assert all(len(pair) == 2 for pair in pairs)
    train = demo_parliament.generate("train", num_train, size=size)
    assert not {source for source, _ in train} & {x for x, _ in pairs}


def test_search_is_as_the_flags_say(tmp_path):
    path = write(tmp_path / "en-fr.tsv", "Flanders\tFlandre\t1\n")
    config = europarl_ps.Config(units=4, embedding_dim=4, encoder_units=4)
    config = dataclasses.replace(
        config, output_dictionary=str(path), search_candidates=5
    )
    words = vocabulary.Vocabulary.build({"the": 2, "of": 1}, 9)
    data = types.SimpleNamespace(
        vocabularies=(words, words), tokenizers=(Tokenizer(language="en"),) * 2
    )
    data.examples, data.test, data.vectors = [], [], (None, None)
    data.corpus = types.SimpleNamespace(unmixed="pairs")
    data.train = types.SimpleNamespace(longest=(9, 9))
    translator = translation_systems.build(
        starting.TranslatorsOnly(config), "nmt", "softmax", data
    )
    assert translator.dictionary.senses("Flanders") == ["Flandre"]
    candidates = [words.words[i] for i in translator.candidate_ids]
    assert candidates == [*SPECIAL_TOKENS, "the"]


@pytest.mark.slow
def test_training_with_links_is_another_training(tmp_path, corpus, capsys):
    links = ["0-0 1-1 1-2"] * NUM_PAIRS
    path = write(tmp_path / "links", "\n".join([*links, "", ""]) + "\n")
    arguments = ["--train", corpus, "--tokenization", "space"]
    assert start(tmp_path, *arguments, "--guided_alignment", path) == 0
    before = figures(tmp_path)
    assert_error(capsys, tmp_path, arguments, ".*training data")
    assert figures(tmp_path) == before
    write(tmp_path / "links", "9-0\n" * (NUM_PAIRS + 2))
    arguments += ["--guided_alignment", path, "--run", "other"]
    message = "--guided_alignment: .*links, line . *: expected links"
    assert_error(capsys, tmp_path, arguments, message)


@pytest.mark.long
def test_another_head_and_the_large_vocabulary_trick(
    tmp_path, corpus, monkeypatch
):
    counts = []

    def spy(copy_ids, vocabulary_size, count, seed=None):
        counts.append((vocabulary_size, count))
        return choose(copy_ids, vocabulary_size, count, seed)

    choose = sampled_vocabulary.choose_candidates
    monkeypatch.setattr(sampled_vocabulary, "choose_candidates", spy)
    monkeypatch.setattr(run_module, "export", lambda *_, **__: "served/1")
    arguments = ["--train", corpus, "--head", "copynet", "--candidates", "9"]
    assert start(tmp_path, *arguments) == 0
    ((name, scores),) = results(tmp_path)["systems"].items()
    assert name == "copynet" and scores["updates"] == 4
    # A few words in training, all of them for the dev score.
    size = max(all_words for all_words, _ in counts)
    assert set(counts) == {(size, 9), (size, size)} and size > 9


def test_a_shortlist_is_learnt_or_read(tmp_path):
    words = vocabulary.Vocabulary.build({"the": 2, "house": 1}, 9)
    french = vocabulary.Vocabulary.build({"la": 2, "maison": 1}, 9)
    pairs = [("the house", "la maison"), ("the", "la")] * 5
    data = types.SimpleNamespace(
        train=encode(pairs, words, french, progress=False),
        vocabularies=(words, french),
    )
    path = write(tmp_path / "en-fr.tsv", "house\tmaison\t1\n")

    def shortlist(value):
        return pointer_softmax_systems.shortlist(value, data)

    assert shortlist(None) is None
    assert shortlist("dictionary").senses("house")[0] == "maison"
    assert shortlist(str(path)).senses("house") == ["maison"]
    with pytest.raises(OSError, match="--shortlist: cannot read gone.tsv"):
        shortlist("gone.tsv")
