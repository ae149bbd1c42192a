import pytest
import tensorflow as tf

from tfcopy.data.text.dictionary import Dictionary, emit

ENTRIES = [
    ("flandre", "flanders", 0.9),
    ("banque", "shore", 0.2),
    ("banque", "bank", 0.7),
]


def test_likeliest_sense_first():
    dictionary = Dictionary(ENTRIES)
    assert dictionary.senses("banque") == ["bank", "shore"]
    assert dictionary.senses("x") == []
    assert len(dictionary) == 2 and "flandre" in dictionary
    looked_up = dictionary.lookup(tf.constant(["x", "banque", "flandre"]))
    assert looked_up.to_list() == [[], [b"bank", b"shore"], [b"flanders"]]


def test_an_empty_dictionary_knows_nothing():
    dictionary = Dictionary()
    assert dictionary.lookup(tf.constant(["a", "b"])).to_list() == [[], []]
    table = dictionary.emission_table()
    assert emit(tf.constant(["a"]), table).numpy().tolist() == [b"a"]


def test_file_round_trip(tmp_path):
    path = tmp_path / "fr-en.tsv"
    Dictionary(ENTRIES).save(path)
    assert list(Dictionary.load(path)) == list(Dictionary(ENTRIES))


def test_comments_and_blank_lines_are_skipped(tmp_path):
    path = tmp_path / "fr-en.tsv"
    path.write_text("# a comment\n\n#\thash\t0.5\r\nété\tsummer\t1\n")
    dictionary = Dictionary.load(path)
    assert list(dictionary) == [("#", "hash", 0.5), ("été", "summer", 1.0)]


@pytest.mark.parametrize(
    "line, expected",
    [
        (b"a\tb", "between tabulators"),
        (b"a b 0.5", "between tabulators"),
        (b"a\tb c\t0.5", "single words"),
        (b"\tb\t0.5", "single words"),
        (b"a\tb\tx", "a probability"),
        (b"a\tb\t1.5", "a probability"),
        (b"a\tb\tnan", "a probability"),
        (b"a\t\xff\t0.5", "valid UTF-8"),
    ],
)
def test_bad_entries_are_named(tmp_path, line, expected):
    path = tmp_path / "fr-en.tsv"
    path.write_bytes(b"# ok\n" + line + b"\n")
    with pytest.raises(ValueError, match=f"fr-en.tsv, line 2: .*{expected}"):
        Dictionary.load(path)


def test_emission_translates_unless_shared():
    table = Dictionary(ENTRIES).emission_table(shared=["flandre"])
    words = tf.constant([["banque", "flandre"], ["北京", "x"]])
    assert emit(words, table).numpy().tolist() == [
        [b"bank", b"flandre"],
        ["北京".encode(), b"x"],
    ]
