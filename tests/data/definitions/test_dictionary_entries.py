import dataclasses
import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.definitions import Definitions, dictionary_entries

SMALL = Definitions(
    ("bank", "give up", "#"),
    ((("a", "shore"), ("to", "tilt")), (("yield",),), (("hash",),)),
    {"gave up": ("give up",), "his": ()},
    ("nv", "v", "-"),
)


def load_text(folder, text):
    path = folder / "own.tsv"
    path.write_text(text)
    return Definitions.load(path)


def test_a_file_of_two_columns(tmp_path):
    text = "bank\tThe bird's, a shore.\nété\tsummer\nbank\tit tilts\n"
    definitions = load_text(tmp_path, text)
    assert definitions.headwords == ("bank", "été")
    assert definitions.definitions == (
        (("The", "bird", "'s", ",", "a", "shore", "."), ("it", "tilts")),
        (("summer",),),
    )
    assert definitions.parts_of_speech == ("--", "-")


def test_further_lines_and_columns(tmp_path):
    text = (
        "\ufeff# A comment, of any\tlength\t.\n\n"
        "  give   up \tyield\tv\r\n"
        "give up\tyield\tn\n"  # the same definition again
        "give up\tcede\tmy source\n"
        "#lemma\tgave up\tgive up\n"
        "#\thash\n"
        "#lemma\this\n"
        "#lemma\taxes\tax\n#lemma\taxes\taxis\n"
    )
    assert load_text(tmp_path, text) == Definitions(
        ("give up", "#"),
        ((("yield",), ("cede",)), (("hash",),)),
        {"gave up": ("give up",), "his": (), "axes": ("ax", "axis")},
        ("v-", "-"),
    )


def test_tokens_stay_as_they_were_saved(tmp_path):
    # Moses would cut these again.
    tokens = ("don't", "U.S", ".", "a/b,", "\u200b")
    definitions = Definitions(("a",), ((tokens,),))
    definitions.save(tmp_path / "a.tsv")
    assert Definitions.load(tmp_path / "a.tsv") == definitions


def test_definitions_without_tokens_are_left_out(tmp_path):
    found = load_text(tmp_path, "a\t\u200b\nb\tx\nb\t\u200b\n")
    assert found == Definitions(("b",), ((("x",),),))


def test_definitions_of_many_chunks_keep_their_places(tmp_path):
    lines = [f"w{i}\tnumber {i}\n" for i in range(9000)]
    found = load_text(tmp_path, "".join(lines) + "w5\tlast\n")
    assert found.definitions[5] == (("number", "5"), ("last",))
    assert found.definitions[8999] == (("number", "8999"),)
    assert found.headwords == tuple(f"w{i}" for i in range(9000))


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_plain_or_gzipped_by_name(tmp_path, name):
    path = tmp_path / "new" / name
    SMALL.save(path, notice="Some rights\n\nreserved.")
    data = path.read_bytes()
    if name.endswith(".gz"):
        data = gzip.decompress(data)
    assert data.decode().splitlines() == [
        *("# Some rights", "# ", "# reserved.", "#tokenized"),
        *("#lemma\tgave up\tgive up", "#lemma\this\t", "bank\ta shore\tn"),
        *("bank\tto tilt\tv", "give up\tyield\tv", "#\thash"),
    ]
    assert Definitions.load(path) == SMALL
    first = path.read_bytes()
    Definitions.load(path).save(path, notice="Some rights\n\nreserved.")
    assert path.read_bytes() == first


WORDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)
PHRASES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
SENSES = st.lists(
    st.lists(WORDS, min_size=1, max_size=4).map(tuple),
    min_size=1,
    max_size=3,
    unique=True,
)


@st.composite
def any_definitions(draw):
    entries = draw(st.dictionaries(PHRASES, SENSES, max_size=5))
    entries = {
        word: senses
        for word, senses in entries.items()
        if not word.startswith("# ")
    }
    lemmas = draw(
        st.dictionaries(PHRASES, st.lists(PHRASES, max_size=2).map(tuple))
    )
    parts = [
        "".join(draw(st.sampled_from("nvar-")) for _ in senses)
        for senses in entries.values()
    ]
    senses = tuple(map(tuple, entries.values()))
    return Definitions(tuple(entries), senses, lemmas, tuple(parts))


@settings(max_examples=50)
@given(any_definitions())
def test_file_round_trip(tmp_path_factory, definitions):
    path = tmp_path_factory.mktemp("definitions") / "a.tsv"
    definitions.save(path)
    loaded = Definitions.load(path)
    assert loaded == definitions
    assert loaded.fingerprint == definitions.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"headwords": ("Bank", "give up", "#")},
        {"definitions": (*SMALL.definitions[:2], (("Hash",),))},
        {"definitions": (SMALL.definitions[0][::-1], *SMALL.definitions[1:])},
        {"lemmas": {}},
        {"lemmas": {"gave up": (), "his": ()}},
        {"parts_of_speech": ("nv", "v", "n")},
    ],
)
def test_fingerprint_changes_with_all_that_there_is(change):
    assert dataclasses.replace(SMALL, **change).fingerprint != SMALL.fingerprint
    assert dataclasses.replace(SMALL).fingerprint == SMALL.fingerprint


@pytest.mark.parametrize(
    "line",
    [
        *(b"bank", b"\ta shore", b"bank\t ", b"bank\ta shore\tn\tx"),
        *(b"#lemma", b"#lemma\t\trun", b"#lemma\ta\tb\tc", b"#tokenised"),
    ],
)
def test_bad_lines_are_named(tmp_path, line):
    path = tmp_path / "own.tsv"
    path.write_bytes(b"# ok\na\tb\n" + line + b"\n")
    with pytest.raises(
        ValueError, match="own.tsv, line 3: expected a headword"
    ):
        Definitions.load(path)


def test_bad_files_are_named(tmp_path):
    path = tmp_path / "own.tsv"
    path.write_bytes(b"a\tb\n\xff\tb\n")
    with pytest.raises(ValueError, match="own.tsv, line 2: not valid UTF-8"):
        Definitions.load(path)
    with pytest.raises(ValueError, match="none.tsv: cannot be read"):
        Definitions.load(tmp_path / "none.tsv")


@pytest.mark.parametrize(
    "word, token",
    [
        *(("# a", "x"), ("#lemma", "x"), ("#tokenized", "x"), ("a\tb", "x")),
        *((" a", "x"), ("a", "x y"), ("a", "")),
    ],
)
def test_what_a_file_cannot_hold_is_not_written(tmp_path, word, token):
    definitions = Definitions((word,), (((token,),),))
    with pytest.raises(ValueError, match="must be.* Received: "):
        definitions.save(tmp_path / "a.tsv")
    assert not (tmp_path / "a.tsv").exists()


@pytest.mark.parametrize(
    "definitions",
    [
        Definitions(
            ("run", "#lemma", "# x", "wake up", "Łódź"),
            (
                (("move", "fast"), ("a", "score")),
                # Twice the same; a token with a blank; one without text.
                (("x",), ("x",)),
                (("a b", ""),),
                (("\ud800", "\t\n"),),
                (("a", "city"),),
            ),
            {"ran": ("run",), "his": (), "left": ("leave", "left")},
            ("vn", "--", "-", "v", "n"),
        ),
        Definitions((), ()),
    ],
    ids=["odd", "empty"],
)
def test_any_definitions_come_back(definitions):
    data = dictionary_entries.to_bytes(definitions)
    again = dictionary_entries.from_bytes(data)
    assert again == definitions
    assert list(again.lemmas.items()) == list(definitions.lemmas.items())
    assert dictionary_entries.to_bytes(again) == data


@pytest.mark.parametrize(
    "damage",
    [b"", b"x", gzip.compress(b"{}")],
    ids=["empty", "no gzip", "no definitions"],
)
def test_damage_is_noticed(damage):
    whole = dictionary_entries.to_bytes(Definitions(("a",), ((("b",),),)))
    for data in (damage, whole[:-9]):
        with pytest.raises((ValueError, KeyError, OSError, EOFError)):
            dictionary_entries.from_bytes(data)


HEADWORDS = {
    "n": "bus wolf box quiz church wish man city bu bos u class horse",
    "v": "run try make mak walk rate rat pass passe use",
    "a": "cold fine large larg",
}


# Forms and their lemmas; `-` is none, as where `boss` is not of `bos`, and
# `rating` is of `rate`, not of `rat`.
FORMS = {
    "n": """horses horse buses bus wolves wolf boxes box quizes quiz churches
    church wishes wish firemen - men man cities city boss - us - classes class
    horse -""",
    "v": """runs run tries try uses use walkes walk rated rate walked walk
    rating rate walking walk horses -""",
    "a": "colder cold coldest cold finer fine finest fine larger larg",
    "r": "walks -",
}


@pytest.mark.parametrize("part", FORMS)
def test_first_rule_that_gives_a_headword(part):
    headwords = HEADWORDS.get(part, "").split()
    forms = FORMS[part].split()
    assert [
        dictionary_entries.lemma(x, part, headwords) or "-" for x in forms[::2]
    ] == forms[1::2]
