"""Of ten megabytes a model reads no more than it can, and in linear time."""

import pytest
import tensorflow as tf

from tests.growth import check_linear

SIZE = 10_000_000
LONG = {
    "words": "Mr. Łukasz doesn't see 12,000 (x) zebras . ".encode(),
    "letters": b"a ",
    "word": b"a",
    "parentheses": b"a(",
    "blanks": b" ",
}


READERS = ["translator", "answers"]
# It reads a text as the answering model does.
READERS.append(pytest.param("language", marks=pytest.mark.slow))


@pytest.fixture(scope="module", params=READERS)
def asked(request, copier_served, function):
    """Returns the function of a text to the answers, asked once before."""
    if request.param == "translator":
        analyse = copier_served.analyse
        others = {}
    else:
        analyse = function(request.param)
        others = {"dictionary": tf.constant([[b"wug\tan animal"]])}
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
def test_ten_megabytes_are_read_in_linear_time(asked, kind):
    outputs = {}

    def ask(text):
        outputs[len(text)] = asked(text)

    text = LONG[kind] * (SIZE // len(LONG[kind]))
    check_linear(ask, lambda size: text[:size], (SIZE >> 8, SIZE >> 4, SIZE))
    # What is read is no other than of a shorter text.
    if kind not in ("word", "blanks"):
        expected = outputs[SIZE >> 4]
        for name in expected:
            found = outputs[len(text)][name]
            assert found.tolist() == expected[name].tolist(), name
