"""The whole command on tiny files, and what can be wrong in it."""

import functools
import types

import pytest
import tensorflow as tf

from tests.data.corpora.test_cnn_dailymail import record
from tests.recipes import exporting, starting
from tests.recipes.starting import results
from tfcopy import models, training
from tfcopy.data.text import vocabulary
from tfcopy.experiments.pairs import pair_data, pair_training
from tfcopy.recipes import cnn_dailymail_pg

TINY = """--units 8 --embedding_dim 8 --updates 4 --coverage_updates 4
--eval_every 2 --batch_size 8 --max_summary_length 6 --num_beams 2
--max_source_length 12 --max_target_length 8""".split()
NUM_PAIRS = 60

start = functools.partial(starting.start, cnn_dailymail_pg, TINY)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    pairs = [
        (f"name{i} won the cup {i % 7} . it rained .", f"name{i} won .")
        for i in range(NUM_PAIRS)
    ]
    pairs += [("", "blank"), ("long " * 3_000, "long . " * 100)]
    sources, targets = zip(*pairs)
    files = [
        write(folder / name, "\n".join(lines) + "\n")
        for name, lines in (("a.src", sources), ("a.tgt", targets))
    ]
    return f"[{', '.join(files)}]"


@pytest.fixture(scope="module")
def finished(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("finished")
    systems = "[lead_3,pointer_generator,pointer_generator_coverage]"
    assert start(folder, "--train", corpus, "--systems", systems) == 0
    return folder


@pytest.mark.long
def test_a_run_goes_on_with_the_baseline(finished, corpus, tmp_path):
    flags = ["--train", corpus]
    systems = starting.go_on(start, finished, tmp_path / "copy", *flags)
    assert list(systems) == list(cnn_dailymail_pg.SYSTEMS)
    assert systems["seq2seq_attention"]["generate_probability"] == 100


def test_results_hold_what_was_agreed(finished):
    found = starting.check_report(finished)
    scores = found["systems"]["pointer_generator_coverage"]
    expected = """parameters updates rouge1 rouge2 rougeL rouge1_recall bleu
        unk_rate copy_rate perplexity generate_probability novel_3grams
        dev_generate_probability dev_coverage_loss repeated_3grams
        seconds_training target_tokens_per_second"""
    assert set(expected.split()) <= set(scores)
    assert found["systems"]["lead_3"]["rouge1"] > 0
    assert "novel_3grams" in found["references"]


def test_coverage_starts_from_the_pointer_generator(finished):
    systems = results(finished)["systems"]
    assert systems["pointer_generator"]["updates"] == 4
    # With those of the weights that it starts from.
    assert systems["pointer_generator_coverage"]["updates"] == 8
    more = (
        systems["pointer_generator_coverage"]["parameters"]
        - systems["pointer_generator"]["parameters"]
    )
    assert more == 16  # w_c


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("options", "updates"),
    [
        ({}, [10, 10, 10]),
        ({"coverage_start_step": 2}, [10, 10, 10]),
        ({"coverage_updates": 3}, [10, 10, 13]),
        ({"coverage_updates": 3, "coverage_start_step": 2}, [10, 10, 5]),
    ],
)
def test_all_systems_are_trained_for_as_long(monkeypatch, options, updates):
    """Unless flags ask for more; the results tell the sum."""

    def train(system, data, loss, *, steps, **_):
        scores = types.SimpleNamespace(
            perplexity=1.0,
            metrics={"generate_probability": 0.5, "coverage_loss": 1.0},
        )
        trainer = types.SimpleNamespace(evaluate=lambda batches: scores)
        return trainer, None, {"updates": steps}

    monkeypatch.setattr(pair_training, "train", train)
    monkeypatch.setattr(pair_training, "dev_batches", lambda *_: None)
    monkeypatch.setattr(training, "warm_start", lambda *models: None)
    config = cnn_dailymail_pg.Config(updates=10, **options)
    run = types.SimpleNamespace(config=config, systems={}, results={})
    for name in cnn_dailymail_pg.SYSTEMS[1:]:
        system = types.SimpleNamespace(
            name=name,
            kind=name,
            model=models.pointer_generator(9, coverage=True),
        )
        run.systems[name] = system
        run.results[name] = cnn_dailymail_pg.train(run, system, None)
    assert [x["updates"] for x in run.results.values()] == updates


def test_the_paper_goes_on_from_the_pointer_generator():
    config = cnn_dailymail_pg.Config(coverage_start_step=0, updates=10)
    assert cnn_dailymail_pg.coverage_updates(config) == (0, 10)  # At once.
    config = cnn_dailymail_pg.Config(**cnn_dailymail_pg.PRESETS["paper"])
    assert cnn_dailymail_pg.coverage_updates(config) == (230_000, 233_000)
    assert config.reset_optimizer


def test_export_answers_and_keeps_words_as_typed(finished):
    served = tf.saved_model.load(results(finished)["savedmodel"]).signatures
    texts = tf.constant(["Łukasz won the cup .", "", "🦄 " * 50])
    answer = served["serving_default"](text=texts)
    assert answer["text"].shape == (3,)
    assert answer["text"].numpy()[1] == b""
    analysis = served["analyse"](text=texts)
    # Cut after 12 words, and no end of the sentence that could be copied.
    assert analysis["source_tokens"].shape[1] == 12
    words = analysis["source_tokens"].numpy()[0].tolist()
    assert words[0].decode() == "Łukasz" and b"</s>" not in words
    p_gen = analysis["generate_probability"].numpy()
    assert p_gen.shape == analysis["copied_from"].shape
    assert ((p_gen >= 0) & (p_gen <= 1)).all()


def test_words_are_counted_once_for_each_question(tmp_path):
    counted = []

    def make():
        counted.append(1)
        return [vocabulary.Vocabulary.build({"a": 3, "b": len(counted)})]

    names = ["words-{}.txt"]
    first = pair_data.make_once(tmp_path, names, ["x", 5], make)
    again = pair_data.make_once(tmp_path, names, ["x", 5], make)
    assert len(counted) == 1 and first[0].words == again[0].words
    other = pair_data.make_once(tmp_path, names, ["x", 6], make)
    assert len(counted) == 2 and other[0].path != again[0].path
    with open(other[0].path, "a") as file:
        file.write("damaged\n")
    made = pair_data.make_once(tmp_path, names, ["x", 6], make)
    assert len(counted) == 3 and "damaged" not in made[0]
    again = pair_data.make_once(tmp_path, names, ["x", 5], make)
    assert len(counted) == 3 and first[0].words == again[0].words


def test_vocabularies_are_of_one_size_after_a_stop_between_them(tmp_path):
    names = ["source-{}.txt", "target-{}.txt"]

    class Stop:
        def save(self, path):
            raise KeyboardInterrupt

    def get(size, stop=False):
        words = vocabulary.Vocabulary.build({"a": 3, "b": 2, "c": 1}, size)
        return pair_data.make_once(
            tmp_path, names, [size], lambda: [words, Stop() if stop else words]
        )

    assert [words.size for words in get(5)] == [5, 5]
    with pytest.raises(KeyboardInterrupt):
        get(6, stop=True)
    assert [words.size for words in get(5)] == [5, 5]
    assert [words.size for words in get(6)] == [6, 6]


def test_the_command_rebuilds_what_was_exported(finished, capsys):
    exporting.check_rebuilt(finished)
    run = finished / "logs" / "demo"
    assert exporting.export(run, "--system", "lead_3") == 2
    assert "lead_3: it has no checkpoint" in capsys.readouterr().err


def test_the_publishers_files(tmp_path):
    records = [
        record(
            f"x{i} won . it rained .", f"<s> x{i} won . </s> <s> rain . </s>"
        )
        for i in range(20)
    ]
    for split in ("train", "val", "test"):
        (tmp_path / f"{split}_000.bin").write_bytes(b"".join(records))
    flags_ = ["--bin_dir", str(tmp_path), "--systems", "[lead_3]"]
    assert start(tmp_path, *flags_) == 0
    assert results(tmp_path)["systems"]["lead_3"]["rouge1_recall"] > 50
    assert "savedmodel" not in results(tmp_path)
