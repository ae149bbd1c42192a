"""The whole command on few news, Chinese ones too, and what can be wrong."""

import functools
import importlib.util
import json
import os
import random

import pytest
import tensorflow as tf

from tests.recipes import exporting, starting
from tests.recipes.starting import results
from tfcopy.experiments import run as run_module
from tfcopy.experiments.pairs import copynet_systems
from tfcopy.recipes import lcsts_copynet

TINY = """--units 16 --embedding_dim 16 --updates 2 --eval_every 100
--batch_size 16 --num_beams 2 --num_train 60 --num_test 40
--systems [copynet]""".split()
HAS_JIEBA = importlib.util.find_spec("jieba") is not None

start = functools.partial(starting.start, lcsts_copynet, TINY)

# The news are fewer than the published ones.
pytestmark = pytest.mark.filterwarnings("ignore:.* pairs for")

# === A folder in the publisher's format ===

RARE = "龘靐齉麤鱻犇猋骉羴飍灪爨驫麷鸞虪讟钃𠮷𪚥"
THINGS = ["iPhone 16", "電腦", "🚗", "👩‍👩‍👧玩具", "T恤", "C919飞机"]


def news(name, number, thing, place="臺北"):
    """A text, and a summary of characters that stand in it, in their order."""
    text = f"{place}的{name}昨天卖出{number}台{thing}，今天下雨 & <b>。"
    return text, f"{name}卖出{number}台{thing}"


def content(count, rng, scored):
    records = []
    for i in range(count):
        name = "".join(rng.sample(RARE, 2))
        thing, place = rng.choice(THINGS), rng.choice(["臺北", "廣州"])
        text, summary = news(name, rng.randint(2, 99), thing, place)
        label = f"    <human_label>{i % 5 + 1}</human_label>\n" * scored
        records.append(
            f"<doc id={i}>\n{label}"
            f"    <summary>\n        {summary}\n    </summary>\n"
            f"    <short_text>\n        {text}\n    </short_text>\n"
            "</doc>\n"
        )
    return "".join(records)


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    """64 news to train on; 20 and 10 to validate and test, as many a score."""
    folder = tmp_path_factory.mktemp("lcsts")
    rng = random.Random(0)
    for part, count in (("I", 64), ("II", 20), ("III", 10)):
        text = content(count, rng, scored=part != "I")
        (folder / f"PART_{part}.txt").write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(request, tmp_path_factory, chinese):
    """A run on characters, or whatever the test asks for."""
    folder = tmp_path_factory.mktemp("trained")
    arguments = ["--data_dir", str(chinese), "--updates", "100"]
    arguments += ["--dropout", "0"]
    arguments += "--learning_rate 0.02 --schedule constant".split()
    arguments += "--character_vocabulary_size 40".split()
    arguments += "--word_vocabulary_size 30 --tokenizations".split()
    arguments += [getattr(request, "param", "[characters]")]
    assert start(folder, *arguments) == 0
    return folder


# === Chinese ===


def vocabulary(folder, tokenization):
    data = folder / "logs" / "demo" / tokenization / "data"
    (path,) = data.glob("vocabulary-*.txt")
    return path.read_text("utf-8").splitlines()[4:]


def test_characters_are_copied(trained):
    words = vocabulary(trained, "characters")
    assert len(words) == 36 and all(len(word) == 1 for word in words)
    found = results(trained)
    scores = found["systems"]["copynet"]["characters"]
    assert found["corpus"] == "LCSTS" and scores["updates"] == 100
    expected = """parameters perplexity unk_rate seconds_training
        seconds_translating target_tokens_per_second"""
    assert set(expected.split()) <= set(scores)
    assert scores["exact_match"] >= 80 and scores["copy_rate"] >= 90
    for metric in ("rouge1", "rouge2", "rougeL"):
        assert scores[metric] > 80


@pytest.mark.long
@pytest.mark.skipif(not HAS_JIEBA, reason="needs jieba")
@pytest.mark.parametrize("trained", ["[words,characters]"], indirect=True)
def test_words_are_copied_and_joined_without_blanks(trained):
    words = vocabulary(trained, "words")
    assert len(words) == 26 and {"今天", "下雨", "卖出"} <= set(words)
    assert results(trained)["exported"] == "characters/copynet"
    both = results(trained)["systems"]["copynet"]
    # Of answers and references without blanks, as the words were joined.
    assert both["words"]["exact_match"] >= 50
    assert both["words"]["copy_rate"] >= 80
    mean = (both["words"]["rouge1"] + both["characters"]["rouge1"]) / 2
    assert both["rouge1"] == pytest.approx(mean, abs=0.01)


def test_export_copies_characters_byte_for_byte(trained):
    path = results(trained)["savedmodel"]
    with open(os.path.join(path, "assets.extra", "tfcopy.json")) as file:
        assert json.load(file)["tokenization"] == "characters"
    # Two code points each, that no training text has.
    names = ["龍龜", "𡘙𪛖", "🦄🏽", "ж\u0301", "ヴィ", "ﬁǅ"]
    assert not set("".join(names)) & set(vocabulary(trained, "characters"))
    texts = [news(name, 57, "電腦")[0].encode() for name in names]
    texts += [b"\xff\xfe\xe9\xbe", "".join(RARE).encode(), b" "]
    model = tf.saved_model.load(path)
    answer = model.signatures["analyse"](text=tf.constant(texts))
    answer = {name: x.numpy() for name, x in answer.items()}
    for i, text in enumerate(answer["text"]):
        tokens = [word for word in answer["tokens"][i, 0] if word]
        source = answer["source_tokens"][i]
        assert b"".join(tokens) == text == text.decode().encode()
        for word, place in zip(tokens, answer["copied_from"][i, 0]):
            assert place < 0 or word == source[place]
    for name, text in zip(names, answer["text"]):
        assert text.decode() == news(name, 57, "電腦")[1]


def test_the_command_rebuilds_what_was_exported(trained):
    exporting.check_rebuilt(trained, "--system", "characters/copynet")


# === Generated news ===


@pytest.mark.slow
def test_generated_news_in_words(tmp_path, capsys, monkeypatch):
    trained = []
    monkeypatch.setattr(
        copynet_systems,
        "train",
        lambda system, *_: trained.append(system.name) or {},
    )
    monkeypatch.setattr(run_module, "export", lambda *_, **__: "served/1")
    arguments = "--systems [rnn_context] --max_target_length 8".split()
    assert start(tmp_path, *arguments) == 0
    assert trained == ["rnn_context"]
    output = capsys.readouterr().out
    assert "not comparable with figures on LCSTS" in output
    assert "rnn_context, words " in output and ", paper" not in output
    found = results(tmp_path)
    assert list(found)[-2:] == ["pairs", "corpus"]
    assert found["recipe"] == "lcsts_copynet" and found["preset"] == "demo"
    assert found["corpus"] == "generated"
    assert found["paper"]["copynet"]["words"]["rouge2"] == 22.3
    scores = found["systems"]["rnn_context"]
    assert list(scores) == ["words", "rouge1", "rouge2", "rougeL"]
    assert scores["words"]["copy_rate"] == 0


def test_news_with_nothing_to_copy_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(lcsts_copynet, "LEAST_OOV_RATE", 50.0)
    message = (
        r"--word_vocabulary_size must leave 50 % .* Received: 10000, which "
        r"leaves \d\d\.\d %"
    )
    starting.check_refused(start, capsys, tmp_path, [], message)


def test_english_characters_may_be_more(tmp_path):
    config = lcsts_copynet.Config(num_train=60, num_test=5, batch_size=16)
    data, limits = lcsts_copynet.prepare(config, "characters", str(tmp_path))
    assert limits == (600, 160)
    assert 140 < data.train.source_lengths.max() <= 600
    # Of the scores of 5, as those of LCSTS are, 2 are below 3.
    assert len(data.test) == 3


# === What can be wrong ===


def test_min_score_chooses(chinese, tmp_path, capsys):
    arguments = ["--data_dir", str(chinese), "--min_score", "4"]
    arguments += ["--tokenizations", "[characters]", "--batch_tokens", "1"]
    assert start(tmp_path, *arguments) == 2
    output, error = capsys.readouterr()
    for name, count in {"train": 64, "validation": 8, "test": 4}.items():
        assert f"\n{name}: {count} pairs read, none left out\n" in output
    assert "lcsts_copynet: --batch_tokens must be at least" in error


def test_missing_jieba_is_told_before_training(
    chinese, tmp_path, capsys, without
):
    without("jieba")
    arguments = ["--tokenizations", "[characters,words]"]
    arguments += ["--data_dir", str(chinese)]
    message = r'jieba is not installed: pip install -e "\.\[jieba\]"'
    starting.check_refused(start, capsys, tmp_path, arguments, message)
    assert not os.path.exists(tmp_path / "logs/demo/characters/copynet")
