"""The whole command on tiny files, and what can be wrong in it."""

import csv
import functools
import re
import types

import numpy as np
import pytest
import tensorflow as tf

from tests.models.contract import without_numbers
from tests.recipes import exporting, starting
from tests.recipes.starting import results
from tfcopy.data.pairs import sampled_vocabulary
from tfcopy.experiments import config
from tfcopy.experiments import run as run_module
from tfcopy.experiments.pairs import headlines, pointer_softmax_systems
from tfcopy.experiments.pairs.pair_training import SamplePictures
from tfcopy.recipes import gigaword_ps

TINY = """--units 8 --embedding_dim 4 --updates 4 --eval_every 2 --batch_size 8
--max_summary_length 6 --num_beams 2 --max_source_length 12 --min_count 3
--max_target_length 8 --candidates 9""".split()
NUM_PAIRS = 60

start = functools.partial(starting.start, gigaword_ps, TINY)


def write(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def write_pair(folder, pairs, name="a"):
    """Files as a flag names them."""
    files = [
        write(folder / f"{name}.{side}", texts)
        for side, texts in zip(("src", "tgt"), zip(*pairs))
    ]
    return f"[{', '.join(files)}]"


def story(i):
    """The sixth word is the name; two in three name it in the headline."""
    name = f"Name{i}"
    told = name if i % 3 else "Nobody"
    return (
        f"the cup {i % 7} went to {name} , not to Other{i} of {name}",
        f"{told} won the cup",
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    pairs = [story(i) for i in range(NUM_PAIRS)]
    pairs += [("", "blank"), ("long " * 3_000, "long " * 100)]
    return write_pair(tmp_path_factory.mktemp("corpus"), pairs)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    lines = ["3 4", "cup 1 2 3 4", "the 5 6 7 8", "won 9 10 11 12"]
    return write(tmp_path_factory.mktemp("vectors") / "v.txt", lines)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        # The run on entities has pictures.
        patch.setattr(SamplePictures, "__call__", lambda *_: None)
        flags = ["--train", corpus, "--systems", "[pointer_softmax_lvt]"]
        assert start(folder, *flags) == 0
    return folder


@pytest.fixture(scope="module")
def entity_flags(corpus, vectors):
    flags = ["--pointers", "entity", "--run", "demo", "--train", corpus]
    flags += ["--entity_truecase", "true", "--forbid_unk", "true"]
    flags += ["--source_vectors", vectors, "--target_vectors", vectors]
    flags += "--encoder transformer --decoder transformer".split()
    flags += "--decoder_layers 1 --label_smoothing 0.1 --coverage".split()
    return [*flags, "--systems", "[pointer_softmax_lvt]"]


@pytest.fixture(scope="module")
def entity_run(tmp_path_factory, entity_flags):
    """The folder of a finished run, and the translator that it exported."""
    folder = tmp_path_factory.mktemp("finished_entity")
    exported = []
    export = run_module.export

    def spy(served, *arguments, **options):
        exported.append(served)
        return export(served, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "export", spy)
        assert start(folder, *entity_flags) == 0
    return folder, *exported


@pytest.fixture(scope="module")
def finished_entity(entity_run):
    return entity_run[0]


def check_scores(systems):
    for scores in systems.values():
        expected = """parameters updates rouge1 rouge2 rougeL rouge1_recall
            rouge2_recall rougeL_recall unk_rate copy_rate perplexity nll
            seconds_training target_tokens_per_second"""
        assert set(expected.split()) <= set(scores)
        assert scores["updates"] == 4
        assert scores["history"]["updates"] == [2, 4]
        nlls = scores["history"]["nll"]
        assert min(nlls) == pytest.approx(scores["nll"], abs=0.006)


def test_results_hold_what_was_agreed(finished):
    check_scores(starting.check_report(finished)["systems"])
    assert (finished / "logs" / "demo" / "dev_nll.png").exists()


@pytest.mark.long
def test_a_run_goes_on_with_the_baseline(finished, corpus, tmp_path):
    flags = ["--train", corpus]
    systems = starting.go_on(start, finished, tmp_path / "copy", *flags)
    assert list(systems) == ["nmt_lvt", "pointer_softmax_lvt"]
    check_scores(systems)
    assert systems["nmt_lvt"]["copy_rate"] == 0
    assert systems["nmt_lvt"]["unk_replaced"]["unk_rate"] == 0


def check_pointers(folder, is_smoothed):
    """Two in three headlines name a name; smoothing adds a penalty."""
    found = results(folder)["pointers_per_100"]
    assert 60 < found["train"] < 75, found
    contents = [x.read_bytes() for x in folder.rglob("events.out.tfevents.*")]
    assert any(b"penalty" in x for x in contents) == is_smoothed


def test_pointers_are_counted(finished):
    check_pointers(finished, is_smoothed=False)


@pytest.mark.long
def test_scores_of_entities(finished_entity):
    check_pointers(finished_entity, is_smoothed=True)
    found = results(finished_entity)
    # The paper's are of other data.
    assert found["paper"] == {} and not found["paper_pointers_per_100"]
    for scores in found["systems"].values():
        assert set(scores["anonymised"]) >= {"rouge1", "rougeL_recall"}


@pytest.mark.long
def test_export_answers_as_python_does(entity_run):
    folder, translator = entity_run
    served = tf.saved_model.load(results(folder)["savedmodel"]).signatures
    texts = ["the cup 3 went to Łukasz , not to 北京 of Łukasz", "", "🦄 " * 50]
    found = served["analyse"](text=tf.constant(texts))
    expected = translator.analyse(tf.constant(texts))
    for name in ("text", "tokens", "copied_from", "source_tokens"):
        np.testing.assert_array_equal(found[name], expected[name])
    assert found["source_tokens"].shape[1] == 13
    names = found["source_tokens"].numpy()[0].tolist()
    assert "Łukasz".encode() in names and "北京".encode() in names
    assert not re.search(b"@[0-9]", b" ".join(found["text"].numpy()))


@pytest.mark.long
def test_the_command_rebuilds_what_was_exported(finished_entity, monkeypatch):
    # Neither the corpus nor its vectors are needed.
    monkeypatch.delattr(headlines, "load_corpus")
    assert exporting.check_rebuilt(finished_entity)["entities"]["common"]


def test_embeddings_start_from_the_vectors(
    tmp_path, corpus, vectors, capsys, monkeypatch
):
    tables = []

    def train(system, data, test):
        model = system.model
        for layer, words in zip(
            (model.source_embedding, model.target_embedding), data.vocabularies
        ):
            tables.append((np.array(layer.embeddings), words))
        raise ValueError("seen")

    monkeypatch.setattr(headlines, "train_and_score", train)
    flags = ["--train", corpus, "--source_vectors", vectors]
    assert start(tmp_path, *flags) == 2
    (source, words), (target, _) = tables
    np.testing.assert_array_equal(source[words.id("cup")], [1, 2, 3, 4])
    other = np.delete(source, [words.id(x) for x in ("cup", "the")], axis=0)
    assert 0 < np.abs(other).max() < 0.06 < np.abs(target).max()
    out = capsys.readouterr().out
    assert re.search(r"--source_vectors: 2 of \d+ words \(\d", out)
    # As `--pointers unk` does of a corpus that has lost words.
    assert "Warning" not in out


@pytest.mark.slow
def test_tags_tell_the_entities(tmp_path, corpus, monkeypatch):
    counts = []
    choose = sampled_vocabulary.choose_candidates

    def spy(copy_ids, vocabulary_size, count, seed=None):
        counts.append(count)
        return choose(copy_ids, vocabulary_size, count, seed)

    monkeypatch.setattr(sampled_vocabulary, "choose_candidates", spy)
    pairs = [story(i) for i in range(NUM_PAIRS)]
    tags = [
        [
            " ".join("ORG" if "Name" in word else "O" for word in text.split())
            for text in pair
        ]
        for pair in pairs
    ]
    flags = ["--pointers", "entity", "--run", "demo", "--tokenization", "space"]
    flags += ["--train", write_pair(tmp_path, pairs)]
    flags += ["--train_tags", write_pair(tmp_path, tags, "tags")]
    flags += ["--systems", "[pointer_softmax_lvt]", "--num_test", "2"]
    assert start(tmp_path, *flags) == 0
    found = results(tmp_path)
    # "Other1" and "Nobody" are no entities here.
    (path,) = (tmp_path / "logs/demo/data").glob("target_vocabulary-*.txt")
    words = path.read_text().split()
    assert "@1" in words and "@2" not in words and "Nobody" in words
    served = tf.saved_model.load(found["savedmodel"]).signatures
    outputs = served["analyse"](text=tf.constant(["Łukasz￨PER won"]))
    source = outputs["source_tokens"].numpy()[0].tolist()
    assert source == ["Łukasz".encode(), b"won", b"</s>"]
    assert 9 in counts and max(counts) == len(words)


def test_a_table_without_header(tmp_path, monkeypatch):
    seen = []

    def stop(system, data, test):
        seen.append((system.name, list(data.corpus.train)))
        raise ValueError("seen")

    monkeypatch.setattr(headlines, "train_and_score", stop)
    path = tmp_path / "news.csv"
    with open(path, "w", newline="") as file:
        rows = ([i, *reversed(story(i))] for i in range(NUM_PAIRS))
        csv.writer(file).writerows(rows)
    flags = ["--train", f"[{path}]", "--source_column", "3"]
    flags += ["--target_column", "2", "--systems", "[nmt_lvt]"]
    assert start(tmp_path, *flags) == 2
    ((system, pairs),) = seen
    assert system == "nmt_lvt"
    assert set(pairs) <= {story(i) for i in range(NUM_PAIRS)} and len(pairs) > 9


LOST = [
    (
        f"the UNK of {'UNK' if i % 4 else f'word{i}'} won",
        f"{'UNK' if i % 4 else f'word{i}'} won",
    )
    for i in range(NUM_PAIRS)
]


@pytest.mark.parametrize("word", ["UNK", "<unk>"])
def test_a_corpus_without_its_rare_words_is_refused(tmp_path, capsys, word):
    pairs = [[text.replace("UNK", word) for text in pair] for pair in LOST]
    flags = ["--train", write_pair(tmp_path, pairs), "--tokenization", "space"]
    assert start(tmp_path, *flags) == 2
    error = capsys.readouterr().err
    assert re.search(
        r"--pointers unk: \d+ words of the training sources are <unk> or UNK "
        r"already, and \d+ unknown ones.*--systems nmt_lvt",
        error,
    ), error


def test_a_few_lost_words_are_reported(tmp_path, capsys, monkeypatch):
    def stop(*arguments, **options):
        raise ValueError("seen")

    monkeypatch.setattr(headlines, "train_and_score", stop)
    pairs = [story(i) for i in range(NUM_PAIRS)] + LOST[:12]
    assert start(tmp_path, "--train", write_pair(tmp_path, pairs)) == 2
    assert "Warning: --pointers unk: " in capsys.readouterr().out


def test_a_corpus_without_entities_is_refused(tmp_path, corpus, capsys):
    flags = ["--train", corpus, "--pointers", "entity"]
    assert start(tmp_path, *flags, "--entity_pattern", "none") == 2
    assert "vocabulary has no placeholders @1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--source_vectors missing", "--source_vectors: cannot read missing"),
        ("--embedding_dim 5 --target_vectors {}", "expected vectors of 5"),
    ],
)
def test_what_the_data_does_not_allow_is_named(
    tmp_path, corpus, vectors, capsys, arguments, message
):
    arguments = arguments.format(vectors).split()
    assert start(tmp_path, "--train", corpus, *arguments) == 2
    assert re.search(message, capsys.readouterr().err)


def test_parameters_of_the_paper():
    """Check 1 of section 9; our GRUs lack no bias of the base system's."""
    config = gigaword_ps.Config(**gigaword_ps.PRESETS["paper"])

    class Words:
        def __init__(self, size):
            self.size = size

    sizes = (config.source_vocabulary_size, config.target_vocabulary_size)
    data = types.SimpleNamespace(vocabularies=[Words(size) for size in sizes])
    assert sizes == (125_000, 75_000)
    with without_numbers():
        model = pointer_softmax_systems.make_model(config, data, "softmax")
    assert sum(np.prod(w.shape) for w in model.trainable_weights) == 28_868_701


def test_the_papers_preset_knows_a_new_flag_of_a_corpus():
    """Only without one, the paper's licensed corpus is missing."""

    @config.group
    class Own(gigaword_ps.Config):
        talks: str | None = config.corpus_file("Talks to read.", "folder")

    headlines.check(Own(preset="paper", talks="talks/"), points=False)
    with pytest.raises(ValueError, match="is licensed"):
        headlines.check(Own(preset="paper"), points=False)
