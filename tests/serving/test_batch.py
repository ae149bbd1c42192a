import gzip
import json
import os

import pytest
import tensorflow as tf

from tfcopy.serving import batch
from tfcopy.serving.batch_answers import block_answers, record_files
from tfcopy.serving.batch_answers.block_answers import Answerer
from tfcopy.serving.client_library import answer_lines
from tfcopy.serving.client_library.batched_model import BatchedModel
from tfcopy.serving.client_library.signatures import AskError, Signature

pytest.importorskip("apache_beam")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

OUTPUTS = ("text", "copied_from")


class Upper(BatchedModel):
    """Answers with capital letters, but no batch that holds "bad".

    It keeps what it was asked, so that a test sees what is asked twice.
    """

    name = "upper"

    def __init__(self):
        self.signatures = {
            name: Signature({"text": 1}, OUTPUTS)
            for name in ("serving_default", "analyse")
        }
        self.batches = []
        self.fails = lambda text: b"bad" in text

    def ask(self, signature, inputs):
        texts = inputs["text"]
        self.batches.append(texts)
        if any(map(self.fails, texts)):
            raise AskError("upper: cannot answer.")
        return {"text": [text.upper() for text in texts]}

    @property
    def answered(self):
        """The texts of batches that did not fail."""
        batches = (x for x in self.batches if not any(map(self.fails, x)))
        return [text for texts in batches for text in texts]


class Pairs(Upper):
    """Reads two texts and answers with their labels."""

    def __init__(self):
        super().__init__()
        inputs = {"premise": 1, "hypothesis": 1}
        self.signatures = {
            "serving_default": Signature(inputs, ("label",)),
            "analyse": Signature(inputs, ("label",)),
        }

    def ask(self, signature, inputs):
        pairs = list(zip(inputs["premise"], inputs["hypothesis"]))
        return {"label": [b"%s-%s" % pair for pair in pairs]}


@pytest.fixture
def model(monkeypatch):
    """The model that the command finds in any folder."""
    model = Upper()

    def load(folder, version, *, batch_size):
        model.batch_size = batch_size
        return model

    monkeypatch.setattr(block_answers, "LocalModel", load)
    monkeypatch.setattr(batch, "find_version", lambda folder, version: folder)
    return model


def answered(folder, stem):
    """The lines of all files of a file's answers, one after the other."""
    found = []
    for path in sorted(folder.glob(f"{stem}-0*")):
        if path.suffix == ".gz":
            found += gzip.decompress(path.read_bytes()).splitlines()
        elif ".dead" not in path.name:
            found += path.read_bytes().splitlines()
    return found


def test_each_text_is_answered_once_in_its_place(model, tmp_path, capsys):
    lines = [f"text {'x' * (i * 7 % 23)} {i}" for i in range(50)]
    lines[20], lines[30] = "a bad one", ""
    plain, rows, out = (tmp_path / x for x in ("a.txt", "b.jsonl.gz", "out"))
    plain.write_text("".join(f"{line}\r\n" for line in lines))
    objects = [json.dumps({"id": i, "text": x}) for i, x in enumerate(lines)]
    objects[4], objects[5] = "no object", '{"text": 3}'
    rows.write_bytes(gzip.compress("\n".join(objects).encode()))
    arguments = ["any", "--input", f"{tmp_path}/*.txt", str(rows)]
    arguments += ["--output", str(out), "--shard_size", "16"]
    arguments += ["--batch_size", "4"]
    assert batch.main(arguments) == 0
    assert len(list(out.glob("a-*.txt"))) == 4
    expected = [x.upper() if "bad" not in x else "" for x in lines]
    assert [x.decode() for x in answered(out, "a")] == expected
    found = [json.loads(x) for x in answered(out, "b")]
    assert found[7] == {"id": 7, "text": lines[7], "answer": expected[7]}
    answers = [x["answer"] for x in found]
    none = [None if i in (4, 5, 20) else x for i, x in enumerate(expected)]
    assert answers == none and found[4] == {"answer": None}
    # What cannot be answered is told, and what stood beside it is answered.
    (letters,) = out.glob("a-*.dead.jsonl")
    letter = json.loads(letters.read_text())
    assert letter["record"] == 20 and letter["input"] == lines[20]
    assert letter["file"] == str(plain) and "cannot answer" in letter["error"]
    dead = [
        json.loads(line)["record"]
        for path in sorted(out.glob("b-*.dead.jsonl"))
        for line in path.read_text().splitlines()
    ]
    assert dead == [4, 5, 20]
    # A batch holds texts of like length.
    assert all(x == sorted(x, key=len, reverse=True) for x in model.batches)
    assert sum(len(x) == 4 for x in model.batches) > 20
    assert "96 texts answered" in capsys.readouterr().out


def test_a_killed_command_goes_on(model, tmp_path, capsys):
    source, out = tmp_path / "a.txt", tmp_path / "out"
    source.write_text("".join(f"t{i}\n" for i in range(40)))
    arguments = ["any", "--input", str(source), "--output", str(out)]
    arguments += ["--shard_size", "8", "--batch_size", "8"]
    model.fails = lambda text: text in (b"t30", b"a")
    assert batch.main(arguments) == 2  # not even "a" is answered
    error = capsys.readouterr().err
    assert error.startswith("batch: upper: cannot answer")
    assert error.count("\n") == 1
    there = {x: os.stat(x).st_mtime_ns for x in out.glob("a-*.txt")}
    assert 0 < len(there) < 5
    model.fails = lambda text: False
    model.batches.clear()
    assert batch.main(arguments) == 0
    assert len(model.answered) == 40 - 8 * len(there)
    assert all(os.stat(x).st_mtime_ns == time for x, time in there.items())
    assert answered(out, "a") == [b"T%d" % i for i in range(40)]
    assert f"{len(there)} there before" in capsys.readouterr().out
    # Other questions, or other texts, are no continuation.
    assert batch.main([*arguments, "--json"]) == 2
    assert "json False" in capsys.readouterr().err
    source.write_text("other\n")
    assert batch.main(arguments) == 2
    assert "has changed since" in capsys.readouterr().err


def test_parquet_and_tfrecord(model, tmp_path):
    texts = [f"text {i}" for i in range(5)]
    table = pyarrow.table(
        {"id": pyarrow.array(range(5), pyarrow.int16()), "body": texts}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    with tf.io.TFRecordWriter(str(tmp_path / "b.tfrecord")) as file:
        for i, text in enumerate(texts):
            example = tf.train.Example()
            features = example.features.feature
            features["id"].int64_list.value.append(i)
            features["body"].bytes_list.value.append(text.encode())
            file.write(example.SerializeToString())
    inputs = [str(tmp_path / x) for x in ("a.parquet", "b.tfrecord")]
    out = tmp_path / "out"
    arguments = ["any", "--input", *inputs, "--output", str(out)]
    assert batch.main([*arguments, "--field", "body", "--shard_size=3"]) == 0
    tables = [parquet.read_table(x) for x in sorted(out.glob("a-*"))]
    assert [len(x) for x in tables] == [3, 2]
    found = pyarrow.concat_tables(tables)
    assert found.column("answer").to_pylist() == [x.upper() for x in texts]
    assert found.drop_columns(["answer"]).equals(table)
    rows = [
        record_files._of_example(data.numpy())
        for path in sorted(out.glob("b-*"))
        for data in tf.data.TFRecordDataset(str(path))
    ]
    assert rows == [
        {"id": i, "body": text, "answer": text.upper()}
        for i, text in enumerate(texts)
    ]


def options(*flags):
    return answer_lines.parser("batch", "", "").parse_args(list(flags))


def test_a_model_of_several_texts():
    answerer = Answerer(Pairs(), options("--json"))
    records = [{"premise": "é", "hypothesis": "b"}, {"premise": "a"}]
    block = record_files.Block("a.jsonl", 0, 0, records)
    found = answerer.answer(block)
    assert found.answers == [{"label": "é-b"}, None]
    assert found.failures == [(1, 'expected a text for "hypothesis"')]
    # A line of text holds an object, too.
    lines = [json.dumps(records[0]).encode(), b"a line"]
    found = answerer.answer(record_files.Block("a.txt", 0, 0, lines))
    assert found.answers == [{"label": "é-b"}, None]
    assert [i for i, _ in found.failures] == [1]


def test_flags_that_make_no_sense_are_named(model, tmp_path, capsys):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("a\n")
    out = ["--output", str(tmp_path / "out")]
    for more, message in (
        (["--input", str(tmp_path / "none")], "there is no"),
        (["--input", f"{tmp_path}/*/a.txt"], "files of the same name"),
        (["--input", f"{tmp_path}/x/a.txt", "--n_best", "2"], "needs --json"),
    ):
        assert batch.main(["any", *more, *out]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
