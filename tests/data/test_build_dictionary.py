"""Dictionaries from parallel text: what becomes an entry, and the command."""

import gzip

import numpy as np
import pytest

from tfcopy.data import Dictionary, Vocabulary
from tfcopy.data.alignment.likely_translations import TokenizedText, build
from tfcopy.data.alignment.word_links import Links
from tfcopy.data.build_dictionary import main

ENGLISH = ["the house", "the flower", "a flower", "", "The House !"]
FRENCH = ["la maison", "la fleur", "une fleur", "", "La Maison !"]


def texts(pairs):
    """The two sides of pairs of lines, words between blanks."""
    return [
        TokenizedText.from_rows(pair[i].encode().split() for pair in pairs)
        for i in (0, 1)
    ]


def diagonal(pairs):
    """Links of the first words, the second words, and so on."""
    rows = [
        (p, i, i)
        for p, pair in enumerate(pairs)
        for i in range(min(len(side.split()) for side in pair))
    ]
    return Links(*np.array(rows, np.int64).reshape(-1, 3).T)


def entries(pairs, **options):
    options = {"function_words": 0, **options}
    found = build(*texts(pairs), diagonal(pairs), **options)
    return [(word, sense, round(p, 4)) for word, sense, p in found]


# === What becomes an entry ===


@pytest.mark.parametrize(
    "pairs, options, expected",
    [
        ([], {}, []),
        ([("", "")], {}, []),
        (
            [("banque", "bank")] * 3 + [("banque", "shore")],
            {},
            [("banque", "bank", 0.75), ("banque", "shore", 0.25)],
        ),
        (
            [("Flandre", "Flanders"), ("flandre", "flanders")],
            {},
            [("Flandre", "Flanders", 1.0), ("flandre", "flanders", 1.0)],
        ),
        (
            [("maison", "house"), ("flandre", "flanders")],
            {"only_outside": {"maison"}},
            [("flandre", "flanders", 1.0)],
        ),
        # Of equally likely senses the rarer comes first.
        (
            [("f", "a"), ("f", "e"), ("f", "b"), ("g", "a")],
            {},
            [*(("f", x, 0.3333) for x in "bea"), ("g", "a", 1.0)],
        ),
    ],
    ids="nothing blank shares case shortlist equal".split(),
)
def test_senses_are_shares_of_a_words_links(pairs, options, expected):
    assert entries(pairs, **options) == expected


def test_rare_senses_are_left_out():
    pairs = [("f", "e")] * 18 + [("f", "two")] * 2 + [("f", "one")]
    assert entries(pairs, min_probability=0.09) == [
        ("f", "e", round(18 / 21, 4)),
        ("f", "two", round(2 / 21, 4)),
    ]
    assert entries(pairs[:20])[1] == ("f", "two", 0.1)  # the threshold itself


def test_a_word_keeps_its_likeliest_senses():
    pairs = [("f", f"e{i}") for i in (5, 4, 3, 2, 1, 0, 0)]
    found = [sense for _, sense, _ in entries(pairs)]
    assert found == ["e0", "e1", "e2", "e3", "e4"]
    found = [sense for _, sense, _ in entries(pairs, max_senses=2)]
    assert found == ["e0", "e1"]


@pytest.mark.parametrize("mark", [",", "«", "...", "<unk>"])
def test_a_word_that_means_no_word_has_no_entry(mark):
    assert entries([("f", mark), ("f", mark), ("f", "e")]) == []
    # As a lesser sense it only disappears.
    assert entries([("f", mark), ("f", "e"), ("f", "e")]) == [
        ("f", "e", round(2 / 3, 4))
    ]
    assert entries([("<unk>", "e")]) == []


def test_frequent_words_are_function_words():
    pairs = [("le", "the"), ("La", "The"), ("f", "THE"), ("g", "e")]
    pairs += [(",", ",")] * 9
    assert entries(pairs, function_words=1) == [("g", "e", 1.0)]
    assert len(entries(pairs)) == 4
    assert entries(pairs, function_words=99) == []


def test_only_links_that_are_one_to_one_count():
    pairs = [("près d'", "near")] + [("d'", "of")] * 2 + [("près", "near")]
    rows = [(0, 0, 0), (0, 1, 0), *list(zip(*diagonal(pairs)))[1:]]
    found = build(*texts(pairs), Links(*np.array(rows).T), function_words=0)
    assert list(found) == [("d'", "of", 1.0), ("près", "near", 1.0)]


# === The command ===


@pytest.fixture
def files(tmp_path):
    """The flags that name two files of text."""
    source, target = tmp_path / "a.en.gz", tmp_path / "a.fr"
    source.write_bytes(gzip.compress("\n".join(ENGLISH).encode()))
    target.write_text("\n".join(FRENCH) + "\n")
    return ["--source", str(source), "--target", str(target)]


def senses(path):
    dictionary = Dictionary.load(path)
    return {word: dictionary.senses(word) for word, _, _ in dictionary}


EXPECTED = {
    "La": ["The"],
    "Maison": ["House"],
    "fleur": ["flower"],
    "la": ["the"],
    "maison": ["house"],
    "une": ["a"],
}


def test_both_directions(files, tmp_path, capsys):
    there, back = tmp_path / "new" / "fr-en.tsv", tmp_path / "en-fr.tsv"
    links = tmp_path / "links"
    arguments = [*files, "--function_words", "0"]
    arguments += ["--output", str(there), "--reverse_output", str(back)]
    assert main([*arguments, "--write_alignment", str(links)]) == 0
    assert senses(there) == EXPECTED
    assert senses(back) == {v[0]: [k] for k, v in EXPECTED.items()}
    assert links.read_text() == "0-0 1-1\n" * 3 + "\n0-0 1-1 2-2\n"
    out = capsys.readouterr().out
    assert f"{there}: 6 words, 6 senses\n" in out
    assert "5 pairs, 9 links (IBM Model 1)" in out
    assert "alignment: 5 pairs read, 1 left out (1 blank), 4 left\n" in out
    assert main([*arguments, "--max_length", "2"]) == 0
    told = "alignment: 5 pairs read, 2 left out (1 blank, 1 too long), 3 left\n"
    assert told in capsys.readouterr().out


def test_links_of_another_aligner(files, tmp_path):
    links, output = tmp_path / "links", tmp_path / "fr-en.tsv"
    links.write_text("0-1\n\n\n\n\n")
    arguments = [*files, "--output", str(output), "--alignment", str(links)]
    assert main([*arguments, "--function_words", "0"]) == 0
    assert senses(output) == {"maison": ["the"]}


def test_flags_reach_the_dictionary(files, tmp_path):
    shortlist, output = tmp_path / "fr.txt", tmp_path / "fr-en.tsv"
    Vocabulary.build({"maison": 1, "la": 1}).save(shortlist)
    config = tmp_path / "flags.yaml"
    config.write_text("max_length: 2\nfunction_words: 1\n")
    arguments = [*files, "--output", str(output), "--config", str(config)]
    assert main([*arguments, "--only_outside", str(shortlist)]) == 0
    # `the` is the most frequent word; `The House !` is too long.
    assert senses(output) == {"fleur": ["flower"], "une": ["a"]}


@pytest.mark.parametrize(
    "flags, message",
    [
        (
            ["--source", "no.en"],
            "build_dictionary: --source: cannot read no.en",
        ),
        (
            ["--alignment", "no"],
            "build_dictionary: --alignment: cannot read no",
        ),
        (
            ["--only_outside", "no"],
            "build_dictionary: --only_outside: cannot read no",
        ),
        (
            ["--output", "."],
            "build_dictionary: --output: cannot write . (it is a folder)",
        ),
    ],
)
def test_errors_name_the_file(files, tmp_path, capsys, flags, message):
    output = tmp_path / "fr-en.tsv"
    assert main([*files, "--output", str(output), *flags]) == 2
    assert message in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    ("output", "flag", "other"),
    [
        ("a.fr", "--output", "--target"),
        ("link.gz", "--reverse_output", "--source"),
        ("new", "--write_alignment", "--output"),
    ],
)
def test_no_file_is_both_read_and_written(
    files, tmp_path, capsys, output, flag, other
):
    (tmp_path / "link.gz").symlink_to(tmp_path / "a.en.gz")
    before = sorted((path, path.read_bytes()) for path in tmp_path.iterdir())
    path = str(tmp_path / output)
    assert main([*files, "--output", str(tmp_path / "new"), flag, path]) == 2
    error = f"build_dictionary: {flag}: {path} is the file of {other} as well."
    assert error in capsys.readouterr().err
    after = sorted((path, path.read_bytes()) for path in tmp_path.iterdir())
    assert after == before


def test_an_output_is_needed(files, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(files)
    error = capsys.readouterr().err
    assert "output" in error and "--help" in error


def test_files_of_different_lengths_are_named(files, tmp_path, capsys):
    longer, empty = tmp_path / "b.fr", tmp_path / "c.fr"
    longer.write_text("\n".join(FRENCH) + "\nune maison\n")
    empty.write_text("")
    rest = ["--output", str(tmp_path / "fr-en.tsv")]
    assert main([*files, *rest, "--target", str(longer)]) == 2
    assert "has 5 lines, but" in (error := capsys.readouterr().err)
    assert f"{longer} has 6" in error
    assert main(["--source", str(empty), "--target", str(empty), *rest]) == 2
    assert "have no lines" in capsys.readouterr().err
