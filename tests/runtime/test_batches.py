import os
import threading

import numpy as np
import pytest

from tfcopy.runtime import batches
from tfcopy.runtime.batches import iter_parallel, map_batches
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import Signature


class Counter(ExportedModel):
    """Tells of each text its words and how many texts it was asked with."""

    name = "counter"
    batch_size, at_once = 4, 3
    signatures = {"count": Signature({"text": 1}, ("words", "beside"))}

    def __init__(self):
        self.batches = []

    def _ask_batch(self, signature, arrays):
        texts = arrays["text"]
        self.batches.append(list(texts))
        words = [x.split() for x in texts]
        rows = np.full((len(texts), max(map(len, words))), b"", object)
        for row, found in zip(rows, words):
            row[: len(found)] = found
        return {"words": rows, "beside": np.full(len(texts), len(texts))}


TEXTS = [" ".join(["a"] * (i * 5 % 13)) + f" {i}" for i in range(18)]


def test_answers_stand_in_the_order_of_the_texts():
    model = Counter()
    found = model.ask("count", {"text": TEXTS})
    said = [" ".join(x.decode() for x in row if x) for row in found["words"]]
    assert said == [text.strip() for text in TEXTS]
    # Batches hold as many as others, and texts of like length.
    assert sorted(map(len, model.batches)) == [3, 3, 4, 4, 4]
    lengths = sorted(sorted(map(len, x)) for x in model.batches)
    for shorter, longer in zip(lengths, lengths[1:]):
        assert shorter[-1] <= longer[0]


def test_one_batch_is_asked_as_it_is():
    model = Counter()
    found = model.ask("count", {"text": TEXTS[:4]})
    assert model.batches == [[text.encode() for text in TEXTS[:4]]]
    assert found["beside"].tolist() == [4] * 4


def test_batches_are_answered_at_once():
    together = threading.Barrier(3, timeout=60)

    def shout(texts):
        together.wait()  # which no thread passes alone
        return [text.upper() for text in texts]

    texts = list("abcdefghi")
    found = map_batches(shout, texts, 3, progress=False, at_once=3)
    assert found == [text.upper() for text in texts]


@pytest.mark.parametrize("at_once", [1, 2, 8])
def test_the_first_error_ends_it(at_once):
    done = []

    def fail(number):
        if number == 5:
            raise ValueError("five")
        done.append(number)
        return number

    with pytest.raises(ValueError, match="five"):
        list(iter_parallel(fail, range(1000), at_once))
    assert len(done) < 1000


def test_a_batch_for_each_core(monkeypatch):
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda _: range(3), raising=False
    )
    assert batches.choose_concurrency() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 500)
    assert batches.choose_concurrency() == 16
