import base64
import bz2
import codecs
import gzip
import json
import lzma
import os

import pytest

from tfcopy import atomic_files
from tfcopy.runtime import local_model
from tfcopy.runtime.answer_lines import AnswerOptions
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import ModelError, Signature
from tfcopy.serving import batch, record_files
from tfcopy.serving.batch_pipeline import Answerer
from tfcopy.serving.record_files import Block, JsonBlock

pytest.importorskip("apache_beam")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

OUTPUTS = ("text", "copied_from")


class Upper(ExportedModel):
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

    def _ask_batch(self, signature, arrays):
        texts = arrays["text"].tolist()
        self.batches.append(texts)
        if any(map(self.fails, texts)):
            raise ModelError("upper: cannot answer.")
        answers = [text.upper() for text in texts]
        return {"text": answers, "score": [0.0] * len(texts)}

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

    def _ask_batch(self, signature, arrays):
        pairs = zip(arrays["premise"], arrays["hypothesis"])
        return {"label": [b"%s-%s" % pair for pair in pairs]}


@pytest.fixture
def model(monkeypatch):
    """The model that the command finds in any folder."""
    model = Upper()

    def load(folder, *, batch_size, **options):
        model.batch_size = batch_size
        return model

    monkeypatch.setattr(local_model, "LocalModel", load)
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


def dead_letters(folder, stem=""):
    return [
        json.loads(line)
        for path in sorted(folder.glob(f"{stem}*.dead.jsonl"))
        for line in path.read_text().splitlines()
    ]


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
    (letter,) = dead_letters(out, "a-")
    assert letter["record"] == 20 and letter["input"] == lines[20]
    assert letter["file"] == str(plain) and "cannot answer" in letter["error"]
    assert [x["record"] for x in dead_letters(out, "b-")] == [4, 5, 20]
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


def test_rows_of_parquet_are_answered(model, tmp_path):
    texts = [f"text {i}" for i in range(5)]
    table = pyarrow.table(
        {"id": pyarrow.array(range(5), pyarrow.int16()), "body": texts}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    inputs = [str(tmp_path / "a.parquet")]
    out = tmp_path / "out"
    arguments = ["any", "--input", *inputs, "--output", str(out)]
    assert batch.main([*arguments, "--field", "body", "--shard_size=3"]) == 0
    tables = [parquet.read_table(x) for x in sorted(out.glob("a-*"))]
    assert [len(x) for x in tables] == [3, 2]
    found = pyarrow.concat_tables(tables)
    assert found.column("answer").to_pylist() == [x.upper() for x in texts]
    assert found.drop_columns(["answer"]).equals(table)


def test_what_a_file_is_its_first_bytes_tell(model, tmp_path):
    """Not its name; and there is a line of answers for each line."""
    lines = ["one é", "", "two\u2028three"]
    text = "\n".join(lines)
    inputs = {
        "bzip2.txt.bz2": bz2.compress(text.encode()),
        "xz.txt.xz": lzma.compress(text.encode()),
        "gzip.txt": gzip.compress(text.encode()),
        "plain.txt.gz": text.encode(),
        "utf16.txt": codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
        "mark.txt": codecs.BOM_UTF8 + text.encode(),
        "both.txt.gz": gzip.compress(text.encode("utf-16")),
        "rows.jsonl.bz2": bz2.compress(b'{"text": "one"}'),
    }
    for name, data in inputs.items():
        (tmp_path / name).write_bytes(data)
    out = tmp_path / "out"
    arguments = ["any", "--input", *(str(tmp_path / x) for x in inputs)]
    assert batch.main([*arguments, "--output", str(out)]) == 0
    (rows,) = answered(out, "rows")
    assert json.loads(rows) == {"text": "one", "answer": "ONE"}
    assert (out / "rows-00000.jsonl").exists()
    assert (out / "xz-00000.txt").exists()
    expected = [x.replace("\u2028", " ").encode().upper() for x in lines]
    for name in list(inputs)[:-1]:
        assert answered(out, name.split(".")[0]) == expected, name


def test_names_of_files_are_no_patterns_and_no_languages(
    model, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name in "b[1]/t.en b[1]/t.v2.fr.gz b[1]/x b1/t.en [a].txt".split():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("one\n")

    def names(*patterns):
        out = tmp_path / "out" / str(len(patterns[0]))
        assert (
            batch.main(["any", "--input", *patterns, "--output", str(out)]) == 0
        )
        return sorted(x.name for x in out.iterdir() if x.name[0] not in ".b")

    assert names("b[1]/t.en") == ["t.en-00000.txt"]
    assert "1 file: 1 text answered" in capsys.readouterr().out
    # A pattern that no file is called, and one that is of several.
    assert names("b[0-9]/*.en") == ["t.en-00000.txt"]
    expected = "[a]-00000.txt t.en-00000.txt t.v2.fr-00000.txt.gz x-00000"
    assert names("b[[]1]/*", "[a].txt") == expected.split()
    assert "4 files: 4 texts answered" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("a.txt", b"\x28\xb5\x2f\xfd\x04\0", "compressed by zstd"),
        ("a.jsonl", b"PAR1\x15\0", "a file of Parquet"),
        ("a.txt.gz", b"\x0a" + bytes(7) + b"crc-", "a file of TFRecord"),
        ("a.parquet", b"a line\n", "not a Parquet file"),
        ("a.txt", gzip.compress(b"a\n" * 999)[:-9], "damaged or cut off"),
        ("a.parquet", b"PAR1 and no rows\n", "cannot be read"),
    ],
    ids="zstd parquet tfrecord text cut rows".split(),
)
def test_files_that_are_not_what_their_names_say(
    model, tmp_path, capsys, name, data, message
):
    path = tmp_path / name
    path.write_bytes(data)
    arguments = ["--input", str(path), "--output", str(tmp_path / "out")]
    assert batch.main(["any", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"batch: {path}: ") and message in error
    assert error.count("\n") == 1 and not model.batches


def test_lines_that_are_no_text_and_no_json(model, tmp_path):
    lines = [b"one\n", b"caf\xe9\r\n", b"two\n"]
    (tmp_path / "a.txt").write_bytes(b"".join(lines))
    deep = b'{"text": "x", "m": ' + b"[" * 100_000 + b"\n"
    rows = [
        b'{"n": 1e400, "text": "one", "n": 0.10}\n',
        deep,
        b'{"text": "caf\xe9"}\n',
        b'{"text": "two", "big": ' + b"9" * 5000 + b"}",
    ]
    (tmp_path / "b.jsonl").write_bytes(b"".join(rows))
    inputs = [str(tmp_path / x) for x in ("a.txt", "b.jsonl")]
    out = tmp_path / "out"
    assert batch.main(["any", "--input", *inputs, "--output", str(out)]) == 0
    assert answered(out, "a") == [b"ONE", b"", b"TWO"]
    assert answered(out, "b") == [
        rows[0][:-2] + b', "answer": "ONE"}',
        b'{"answer": null}',
        b'{"answer": null}',
        rows[3][:-1] + b', "answer": "TWO"}',
    ]
    letters = dead_letters(out)
    assert "byte 0xe9 at position 4" in letters[0]["error"]
    assert [
        base64.b64decode(x["input"]["b64"])
        if isinstance(x["input"], dict)
        else x["input"].encode()
        for x in letters
    ] == [x.rstrip(b"\r\n") for x in (lines[1], deep, rows[2])]


def test_a_field_that_is_there_needs_another_name(model, tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one", "answer": "mine"}\n')
    arguments = ["any", "--input", str(path), "--output"]
    assert batch.main([*arguments, str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err
    assert f"{path}: there is a field 'answer' already" in error
    assert not list((tmp_path / "x").glob("a-*"))
    arguments += [str(tmp_path / "y"), "--answer_field", "ours"]
    assert batch.main(arguments) == 0
    (line,) = answered(tmp_path / "y", "a")
    assert line == b'{"text": "one", "answer": "mine", "ours": "ONE"}'


def test_two_commands_need_two_folders(model, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("a\n")
    out = tmp_path / "out"
    out.mkdir()
    arguments = ["any", "--input", str(tmp_path / "a.txt")]
    with atomic_files.hold_lock(out / "batch.json", ValueError()):
        assert batch.main([*arguments, "--output", str(out)]) == 2
    assert f"another command is answering into {out}" in capsys.readouterr().err
    assert not list(out.glob("a-*"))
    assert batch.main([*arguments, "--output", str(out)]) == 0


def test_a_model_of_several_texts():
    answerer = Answerer(Pairs(), AnswerOptions(json=True))
    records = [{"premise": "é", "hypothesis": "b"}, {"premise": "a"}]
    lines = [json.dumps(x).encode() + b"\n" for x in records]
    found = answerer.answer(JsonBlock("a.jsonl", 0, 0, lines))
    assert found.answers == [{"label": "é-b"}, None]
    assert found.failures == [(1, 'expected a text for "hypothesis"')]
    # A line of text holds an object, too.
    found = answerer.answer(Block("a.txt", 0, 0, [lines[0], b"a line\n"]))
    assert found.answers == [{"label": "é-b"}, None]
    assert [i for i, _ in found.failures] == [1]


def test_flags_that_make_no_sense_are_named(model, tmp_path, capsys):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("a\n")
    out = ["--output", str(tmp_path / "out")]
    for more, message in (
        (["--input", str(tmp_path / "none")], "there is no"),
        (["--input", str(tmp_path / "x")], "there is no file"),
        (["--input", "/dev/null"], "there is no file"),
        (["--input", f"{tmp_path}/*/a.txt"], "files of the same name"),
        (["--input", f"{tmp_path}/x/a.txt", "--n_best", "2"], "needs --json"),
    ):
        assert batch.main(["any", *more, *out]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "plan, message",
    [
        ({"files": {}}, 'it has no "asked"'),
        ({"asked": [], "files": {}}, '"asked" must be an object'),
        ({"asked": {}, "files": 3}, '"files" must be an object'),
    ],
)
def test_a_record_of_another_form_is_told(
    model, tmp_path, capsys, plan, message
):
    (tmp_path / "a.txt").write_text("a\n")
    path = tmp_path / "batch.json"
    path.write_text(json.dumps(plan))
    arguments = ["any", "--input", f"{tmp_path}/a.txt", "--output", tmp_path]
    assert batch.main(list(map(str, arguments))) == 2
    expected = f"batch: {path} is damaged ({message}"
    assert capsys.readouterr().err.startswith(expected)


def test_files_may_have_names_that_are_no_text(tmp_path):
    name = str(tmp_path / "a\udcff[1].jsonl")
    with open(name, "wb") as file:
        file.write(b'{"text": "a"}\n')
    for expected in ({"text": "a"}, {"text": "a", "answer": "A"}):
        (part,) = record_files.parts(name, 9)
        (block,) = record_files.read(part, 9)
        assert list(block.rows(["text", "answer"])) == [expected]
        block.write(name, ["A"], "answer")
