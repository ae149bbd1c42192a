"""LiteRT's programs of an export, run with neither Python nor TensorFlow."""

import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf

from tests.serving.servables import translators
from tfcopy.checked_files import checksum_of
from tfcopy.data import Tokenizer
from tfcopy.runtime.local_model import LocalModel
from tfcopy.serving.saved_model import export
from tfcopy.serving.servables import litert_export
from tfcopy.serving.serving_files import FILES

pytest.importorskip("ai_edge_litert")
pytestmark = [
    pytest.mark.long,
    pytest.mark.optimised_graphs,
    pytest.mark.skipif(
        not (shutil.which("make") and shutil.which("cc")),
        reason="needs make and a C compiler",
    ),
]
OPTIONS = {
    "litert": "float32",
    "max_source_length": 20,  # programs of 16 positions and of 32
    "source_tokenizer": Tokenizer("space"),
    "target_tokenizer": Tokenizer("space"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    subprocess.run(
        [
            *("make", "-C", FILES / "c", f"BUILD={folder}"),
            *(f"PYTHON={sys.executable}", "search_litert"),
        ],
        check=True,
        capture_output=True,
    )
    return str(folder / "search_litert")


def exported(translator, tmp_path_factory):
    return export(translator, tmp_path_factory.mktemp("models") / "model")


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """The folder of a translator that says all words of a source."""
    return exported(translators.copier(**OPTIONS), tmp_path_factory)


@pytest.fixture
def copied(copies, tmp_path):
    return pathlib.Path(shutil.copytree(copies, tmp_path / "1"))


def run(program, *arguments, lines=b"", **options):
    """Status, output and errors of a command."""
    done = subprocess.run(
        [program, *map(str, arguments)],
        input=lines,
        stderr=subprocess.PIPE,
        **{"stdout": subprocess.PIPE, **options},
    )
    return done.returncode, done.stdout, done.stderr.decode()


def assert_same(program, folder, texts):
    lines = b"".join(x + b"\n" for x in texts)
    status, output, error = run(program, folder, lines=lines)
    assert (status, error) == (0, "")
    model = LocalModel(folder, engine="tensorflow")
    expected = model.ask("serving_default", {"text": texts})["text"]
    assert output.split(b"\n")[:-1] == expected.tolist()


TEXTS = [
    "the session of Łukasz is open .",
    "",
    "Łukasz , 北京 , Łukasz and 北京 ; Łukasz",
    "la session de est la , et",  # of the target alone
    "the of is open of the",  # of the source alone
    " ".join(translators.NAMES),
    "<unk> </s> <s> <pad> <unk> x x",
    "  \t the\u2003session\u200b.\ufeff\u3000x\x00y\x85z \r",
    *["the " * (n - 1) + "x" for n in (1, 14, 15, 16, 20, 21, 40)],
    "x " * 30,
    "y" * 100_000 + " the",
]


def test_answers_are_those_of_python(program, copies):
    assert_same(
        program, copies, [x.encode() for x in TEXTS + translators.sentences(40)]
    )


def test_sources_without_an_end_mark(program, tmp_path_factory):
    translator = translators.random_translator(append_eos=False, **OPTIONS)
    folder = exported(translator, tmp_path_factory)
    assert_same(
        program, folder, [x.encode() for x in TEXTS + translators.sentences(20)]
    )


def test_any_bytes_are_words_as_in_python(program, copies):
    """Parts of UTF-8, its ends, and all that is none."""
    edges = bytes.fromhex("207f808f909fa0bfc0c1c2dfe0e1edeeeff0f1f3f4f5ff41")
    pairs = map(bytes, itertools.product(edges, edges))
    rng = random.Random(0)
    texts = [b" ".join(itertools.islice(pairs, 12)) for _ in range(48)]
    texts += [bytes(rng.choices(edges, k=40)) for _ in range(400)]
    points = [x for x in range(0x3100) if x != 10] + [0xFEFF, 0xFFFD, 0x10FFFF]
    for start in range(0, len(points), 12):
        texts.append("x".join(map(chr, points[start : start + 12])).encode())
    assert_same(program, copies, texts)


def test_the_last_line_need_not_end(program, copies):
    for lines, answers in [
        (b"", b""),
        (b"\n", b"\n"),
        (b"x\n\ny z", b"x\n\ny z\n"),
        (b"\x00", b"\n"),
    ]:
        assert run(program, copies, lines=lines) == (0, answers, "")


def cut_off(path, size=0):
    content = path.read_bytes()
    path.write_bytes(content[: size or len(content) // 2])


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def replace_programs(copied, programs):
    """Puts other programs into an export, with their checksum."""
    old = checksum_of(copied / PROGRAMS)
    (copied / PROGRAMS).write_bytes(programs)
    edit(copied / CONFIG, old, checksum_of(copied / PROGRAMS))


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


PROGRAMS = "assets.extra/search.tflite"
CONFIG = "assets.extra/tfcopy.json"
TARGET = "assets/target_vocabulary.txt"


@pytest.mark.parametrize(
    "file, damage, message",
    [
        (PROGRAMS, pathlib.Path.unlink, "No such file or directory"),
        (PROGRAMS, cut_off, "is damaged, or no file of LiteRT"),
        (PROGRAMS, lambda x: cut_off(x, -1), "is damaged, or no file"),
        (PROGRAMS, lambda x: x.write_bytes(b""), "is damaged, or no file"),
        (PROGRAMS, lambda x: x.write_bytes(b"x" * 9999), "is damaged, or no"),
        (
            PROGRAMS,
            lambda x: flip(x, 5_000),
            "is damaged, or no file of LiteRT",
        ),
        (PROGRAMS, lambda x: flip(x, -1), "is damaged, or no file of LiteRT"),
        (CONFIG, pathlib.Path.unlink, "No such file or directory"),
        (CONFIG, lambda x: cut_off(x, 20), "is damaged"),
        (CONFIG, lambda x: x.write_bytes(b""), "is damaged"),
        (TARGET, pathlib.Path.unlink, "No such file or directory"),
        (TARGET, cut_off, "is damaged, or of another export"),
        (TARGET, lambda x: cut_off(x, -1), "is damaged, or of another"),
        (TARGET, lambda x: cut_off(x, -3), "is damaged, or of another"),
        (TARGET, lambda x: x.write_bytes(b""), "is damaged, or of another"),
        (TARGET, lambda x: edit(x, "<unk>", "<UNK>"), "is damaged, or of"),
        (
            CONFIG,
            lambda x: edit(x, '"replace_unk": false', '"replace_unk": true'),
            "has replace_unk, which this program cannot do",
        ),
        (
            CONFIG,
            lambda x: edit(x, '"dictionary_size": 0', '"dictionary_size": 3'),
            "has dictionary_size, which this program cannot do",
        ),
    ],
)
def test_what_is_damaged_is_told(program, copied, file, damage, message):
    damage(copied / file)
    status, output, error = run(program, copied, lines=b"x\n")
    assert (status, output) == (1, b"")
    assert error.startswith(f"search_litert: {copied / file}: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 9_999])
def test_damage_with_the_right_checksum_is_told_by_litert(
    program, copied, size
):
    """And so SHA-256 of any size is that of Python."""
    replace_programs(copied, random.Random(size).randbytes(size))
    status, output, error = run(program, copied, lines=b"x\n")
    assert (status, output) == (1, b"")
    assert "is damaged, or no file of LiteRT (status" in error


def test_programs_for_required_words_are_refused(program, copied):
    @tf.function(input_signature=[tf.TensorSpec([1, 16], tf.int32)])
    def search(ids):
        return {"ids": ids + 1}

    functions = {"required_1x16": search.get_concrete_function()}
    programs = litert_export.convert(functions, "float32")
    replace_programs(copied, programs)
    status, output, error = run(program, copied, lines=b"x\n")
    assert (status, output) == (1, b"")
    assert "has no program free_1x...; required_..." in error
    functions = {"free_1x16": search.get_concrete_function()}
    programs = litert_export.convert(functions, "float32")
    replace_programs(copied, programs)
    status, output, error = run(program, copied, lines=b"x\n")
    assert (status, output) == (1, b"")
    assert error.endswith("search.tflite: has other arrays\n")


def test_more_words_than_any_program_reads_are_told(program, copied):
    edit(copied / CONFIG, '_length": 20', '_length": 99')
    lines = b"x\n" + b"x " * 31 + b"\n" + b"x " * 32 + b"\nx\n"
    status, output, error = run(program, copied, lines=lines)
    assert (status, output.count(b"\n")) == (1, 2)
    assert error == (
        "search_litert: standard input: line 3: more than the 31 words that "
        f"{copied / PROGRAMS} reads\n"
    )


def test_other_errors_are_told(program, copies, tmp_path):
    usage = "search_litert: expected the folder of an export: see --help\n"
    for arguments in ([], ["--x"], [copies, copies]):
        assert run(program, *arguments) == (1, b"", usage)
    status, _, error = run(program, tmp_path / "none")
    assert status == 1 and f"{tmp_path}/none/assets.extra" in error
    status, output, _ = run(program, "--help")
    assert status == 0 and b'the tokenizer "space"' in output
    with open("/dev/full", "wb") as full:
        for arguments in ([copies], ["--help"]):
            status, _, error = run(
                program, *arguments, lines=b"x\n", stdout=full
            )
            assert (status, error) == (
                1,
                "search_litert: standard output: No space left on device\n",
            )
    folder = os.open("/", os.O_RDONLY)
    done = subprocess.run([program, copies], stdin=folder, capture_output=True)
    os.close(folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"search_litert: standard input: Is a directory\n"
