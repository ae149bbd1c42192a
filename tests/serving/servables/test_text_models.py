"""Answers of models whose words have definitions.

Requests are tested in test_ask_texts, exports in test_text_model_export.
"""

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.servables.conftest import CASES
from tests.serving.servables.text_models import (
    TEXT,
    TEXTS,
    ask,
    assert_close,
    assert_same,
    texts_of,
)
from tfcopy.serving.servables.text_model import NUM_SPECIALS

pytestmark = pytest.mark.long


def words_of(served, texts):
    words = {k: served.tokenizer.tokenize(x) for k, x in texts.items()}
    if served.features.begin or served.features.end:
        return words
    # As a blank text is read.
    unknown = tf.constant(["<unk>"])
    return {
        k: tf.ragged.constant(
            [row or unknown.numpy().tolist() for row in x.to_list()], tf.string
        )
        for k, x in words.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_the_table_gives_what_reading_gives(made, function, name):
    served, model, features = made[name]
    texts = texts_of(served)
    outputs = model(features.inputs(words_of(served, texts)))
    found = ask(function(name), texts)
    if name == "answers":
        start, end = (tf.nn.log_softmax(outputs[x]) for x in ("start", "end"))
        for key, x in (("start", start), ("end", end)):
            np.testing.assert_allclose(
                found[f"{key}_probability"], tf.exp(x), atol=1e-5
            )
        assert found["text"][0] in TEXTS[0].encode()
    elif name == "entailment":
        expected = tf.nn.softmax(outputs)
        np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
        labels = np.array([b"contradiction", b"neutral", b"entailment"])
        best = labels[np.argmax(expected, axis=1)]
        assert found["label"].tolist() == best.tolist()
    else:
        lengths = words_of(served, texts)["text"].row_lengths().numpy()
        log_probs = tf.nn.log_softmax(outputs).numpy()
        ids = features.inputs(words_of(served, texts))["text_ids"].numpy()
        for i, length in enumerate(lengths):
            expected = sum(
                log_probs[i, t, ids[i, t + 1]] for t in range(length)
            )
            np.testing.assert_allclose(
                found["log_probability"][i], expected, atol=1e-4
            )
            np.testing.assert_allclose(
                found["perplexity"][i],
                np.exp(-expected / max(length, 1)),
                rtol=1e-4,
            )
            following = np.exp(log_probs[i, length, NUM_SPECIALS:])
            best = np.argsort(-following)[:10]
            np.testing.assert_allclose(
                found["next_probabilities"][i], following[best], atol=1e-5
            )
            words = [TEXT.word(j + NUM_SPECIALS).encode() for j in best]
            assert found["next_words"][i].tolist() == words


@pytest.mark.parametrize("name", CASES)
def test_a_request_changes_the_answers_to_its_own_examples_alone(
    made, function, name
):
    texts = texts_of(made[name][0])
    before = ask(function(name), texts)
    assert_same(ask(function(name), texts, [[], [], [], []]), before)
    # Two examples know of zebras; one may say what they are.
    lines = ["zebra\tbark", "cat\tan animal that can mew"]
    after = ask(function(name), texts, [lines[:1], [], [], lines[1:] * 2])
    assert_same(after, before, slice(1, 3))
    for row in (0, 3):
        score = {"answers": "score", "entailment": "probabilities"}.get(
            name, "next_probabilities"
        )
        assert (after[score][row] != before[score][row]).any()
    # Nor do answers depend on the others.
    for row in range(4):
        alone = {k: x[row : row + 1] for k, x in texts.items()}
        given = [[lines[:1], [], [], lines[1:] * 2][row]]
        expected = {k: x[row : row + 1] for k, x in after.items()}
        assert_close(ask(function(name), alone, given), expected)


@pytest.mark.parametrize("name", CASES)
def test_lines_that_define_nothing_are_ignored(made, function, name):
    texts = texts_of(made[name][0])
    lines = [
        *("zebra", "\tbird", "zebra\t", "zebra\t \x01", "", "\t", "ze\xffbra"),
    ]
    bad = [*lines, b"\xff\t\xfe", b"\xff\xfe\xfd", "# zebra", "zebra \u00a0"]
    before = ask(function(name), texts)
    assert_same(ask(function(name), texts, [bad, [], bad, bad]), before)
    good = ["zebra\tbark", "cat\tfly"]
    expected = ask(function(name), texts, [[], good, [], good[:1]])
    mixed = [bad, bad + good, bad, [*good[:1], *bad]]
    assert_close(ask(function(name), texts, mixed), expected)


@pytest.mark.parametrize("name", CASES)
def test_any_texts_are_answered(made, function, name):
    served = made[name][0]
    rng = np.random.default_rng(0)
    noise = [rng.bytes(rng.integers(0, 60)) for _ in range(6)]
    long = " ".join(["zebra", "the"] * 1500)
    first, second = [*noise, long, ""], [*noise[::-1], "", long]
    texts = texts_of(served, first, second)
    found = ask(function(name), texts, [[x] for x in first])
    for x in found.values():
        assert len(x) == 8
        if x.dtype.kind == "f":
            assert np.isfinite(x).all()
    size = {"answers": "context_tokens", "entailment": "premise_tokens"}
    width = found[size.get(name, "tokens")].shape[1]
    assert width == served.max_length + (name == "answers")
    nothing = {k: x[:0] for k, x in texts.items()}
    empty = ask(function(name), nothing, np.zeros((0, 3), str).tolist())
    assert {len(x) for x in empty.values()} == {0}


def test_all_texts_have_one_row_per_example(made, function):
    texts = texts_of(made["entailment"][0], ["a"], ["a", "b"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="one row per"):
        ask(function("entailment"), texts)


def test_analysis_tells_whose_definitions_are_read(made, function):
    lines = ["run\tbark", "Old\tbig", "Zebras\tfly"]
    found = ask(
        function("answers"),
        texts_of(made["answers"][0]),
        [lines, [], ["old\tbig", "go\tfly", "zebra\tfly"], lines],
    )
    heads = found["context_headwords"][:, :, 0]
    assert found["context_tokens"][0].tolist()[:5] == [
        *(b"the", b"zebra", b"runs", b"."),
        b"</s>",
    ]
    assert heads[0].tolist()[:5] == [b"", b"zebra", b"run", b"", b""]
    # Of a plural and an irregular form; and of a word without an entry.
    expected = [b"", b"wug", b"is", b"old", b"", b"zebra", b"go", b""]
    assert heads[2].tolist() == expected
    assert found["question_headwords"][0, 3, 0] == b"wug"
    assert not found["context_headwords"][1].any()


def test_an_answer_is_cut_out_as_it_is_typed(made, function):
    context = "\u00a0 The  \u201cŻebra\u201d\tof 北京's wug\r\n is Red. "
    texts = texts_of(made["answers"][0], [context], ["who?"])
    found = ask(function("answers"), texts)
    start, end = int(found["start"][0]), int(found["end"][0])
    assert found["text"][0].decode() == context[start:end]
    assert context[start:end].strip() == context[start:end] != ""
    first, last = (found[f"{x}_probability"][0] for x in ("start", "end"))
    joint = {
        first[i] * last[j]
        for i in range(len(first))
        for j in range(i + 1, len(last))
    }
    np.testing.assert_allclose(np.exp(found["score"][0]), max(joint), rtol=1e-4)
    assert last.shape == (found["context_tokens"][0] != b"").sum()
    attention = found["attention"]
    assert attention.shape == (1, len(first), 3)
    np.testing.assert_allclose(attention.sum(axis=2), 1, atol=1e-5)
    blank = ask(function("answers"), texts_of(made["answers"][0], [" "], ["x"]))
    for name, value in {"text": b"", "score": 0, "start": 0, "end": 0}.items():
        assert blank[name][0] == value


def test_surprisals_add_up(made, function):
    texts = texts_of(made["language"][0])
    found = ask(function("language"), texts, [["zebra\tfly"]] * 4)
    np.testing.assert_allclose(
        found["token_log_probabilities"].sum(axis=1),
        found["log_probability"],
        rtol=1e-5,
    )
    assert not found["token_log_probabilities"][found["tokens"] == b""].any()
    assert found["tokens"][0].tolist()[:4] == [b"the", b"zebra", b"runs", b"."]
    assert found["is_known"][0].tolist()[:4] == [True, False, True, True]
