"""The command that makes a file of definitions from WordNet."""

import gzip

import pytest

from tests.data.definitions import wndb
from tfcopy.data.build_definitions import coverage, main
from tfcopy.data.definitions import DefinitionLookup, Definitions

SYNSETS = [
    ("n", ["dog", "domestic_dog"], 'a domesticated animal; "the dog barked"'),
    ("v", ["run"], "move fast"),
    ("n", ["run"], "a score"),
]


@pytest.fixture
def flags(tmp_path):
    folder = wndb.write(tmp_path / "wordnet", SYNSETS, {"v": ["ran run"]})
    output = tmp_path / "new" / "wordnet.tsv.gz"
    return ["--wordnet", str(folder), "--output", str(output)]


def test_coverage_is_of_words_with_letters():
    lookup = DefinitionLookup(Definitions(("dog", "7"), ((("x",),),) * 2))
    counts = {"Dogs": 3, "dog": 2, "none": 5, "7": 90, ".": 90}
    assert coverage(lookup, counts) == (0.5, 2 / 3)
    assert coverage(lookup, {".": 1}) == coverage(lookup, {}) == (0, 0)


def test_file_and_figures(flags, tmp_path, capsys):
    plain, zipped = tmp_path / "a.txt", tmp_path / "b.gz"
    plain.write_text("The dogs ran, ran, ran.\n")
    zipped.write_bytes(gzip.compress(b"Dog\n"))
    assert main([*flags, "--words", str(plain), str(zipped)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{flags[3]}: 3 headwords, 4 definitions of 2.5 tokens on average",
        f"{plain}: 80.0% of the words and 66.7% of the distinct words have "
        "definitions",
        f"{zipped}: 100.0% of the words and 100.0% of the distinct words have "
        "definitions",
    ]
    definitions = Definitions.load(flags[3])
    assert definitions.headwords == ("dog", "domestic dog", "run")
    assert definitions.definitions[2] == (("a", "score"), ("move", "fast"))
    assert definitions.lemmas == {"ran": ("run",)}
    with gzip.open(flags[3], "rt") as file:
        assert file.readline() == f"# {wndb.LICENCE[0].strip()}\n"


@pytest.mark.parametrize(
    "flag, value, message",
    [
        ("--wordnet", "none", "--wordnet: cannot read none"),
        ("--wordnet", ".", "build_definitions: ./data.noun: cannot be read"),
        ("--words", "none.txt", "--words: cannot read none.txt"),
        ("--output", ".", "--output: cannot write . (it is a folder)"),
    ],
)
def test_errors_name_the_file(flags, tmp_path, capsys, flag, value, message):
    assert main([*flags, flag, value]) == 2
    output = capsys.readouterr()
    assert message in output.err and output.out == ""
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("flag", ["--words", "--wordnet"])
def test_no_file_is_both_read_and_written(flags, tmp_path, capsys, flag):
    read = {"--words": tmp_path / "a.txt"}
    read["--words"].write_text("dog")
    read["--wordnet"] = tmp_path / "wordnet" / "data.noun"
    before = read[flag].read_bytes()
    words = ["--words", str(read["--words"])]
    assert main([*flags[:2], *words, "--output", str(read[flag])]) == 2
    assert f"is the file of {flag} as well" in capsys.readouterr().err
    assert read[flag].read_bytes() == before


def test_help_says_where_wordnet_is(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert "apt install wordnet-base" in text and "--words FILE" in text
