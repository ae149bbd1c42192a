"""Ten megabytes take no longer than what a model reads of them."""

import time

import pytest
import tensorflow as tf

SIZE = 10_000_000
LONG = {
    "words": "Mr. Łukasz doesn't see 12,000 (x) zebras . ".encode(),
    "letters": b"a ",
    "word": b"a",
    "parentheses": b"a(",
    "blanks": b" ",
}


@pytest.fixture(scope="module", params=["translator", "answers", "language"])
def asked(request, copier_served, function):
    """Returns the function of a text to the answers, asked once before."""
    if request.param == "translator":
        analyse = copier_served.analyse
        others = {}
    else:
        analyse = function(request.param)
        lines = tf.constant([[b"wug\tan animal"]])
        others = {"dictionary": lines}
        if request.param == "answers":
            others["question"] = tf.constant([b"what is a wug ?"])
    name = "context" if request.param == "answers" else "text"

    def asked(text):
        outputs = analyse(**{name: tf.constant([text])}, **others)
        return {name: x.numpy() for name, x in outputs.items()}

    asked(b"a")
    return asked


@pytest.mark.long
@pytest.mark.parametrize("kind", LONG)
def test_ten_megabytes_are_answered_at_once(asked, kind):
    text = LONG[kind] * (SIZE // len(LONG[kind]))
    start = time.process_time()  # of all threads, whoever else works here
    outputs = asked(text)
    assert time.process_time() - start < 2
    # What is read is no other than of a shorter text.
    if kind not in ("word", "blanks"):
        expected = asked(text[:200_000])
        for name in expected:
            assert outputs[name].tolist() == expected[name].tolist(), name
