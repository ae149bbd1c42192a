import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.definitions import wndb
from tfcopy.data.definitions import wordnet
from tfcopy.data.definitions.wordnet import NOUNS_BY_CATEGORY

WORDNET = Path(os.environ.get("TFCOPY_WORDNET", "/usr/share/wordnet"))


def read(folder):
    return wordnet.read(folder)


def glosses(definitions):
    return {
        word: [" ".join(tokens) for tokens in senses]
        for word, senses in zip(definitions.headwords, definitions.definitions)
    }


@pytest.mark.parametrize(
    "gloss, expected",
    [
        ("easy to reach", "easy to reach"),
        ('easy to reach; "a handy spot"; "handy"- A. Poet;', "easy to reach"),
        ('cause to speak, "Can you draw her out', "cause to speak"),
        ("one; or another; ", "one ; or another"),
        (
            'help (as in "on behalf of"); "for x"',
            'help ( as in " on behalf of " )',
        ),
        ("the cat's `paw'", "the cat 's ` paw '"),
    ],
)
def test_examples_are_no_part_of_the_definition(tmp_path, gloss, expected):
    wndb.write(tmp_path, [("n", ["handy"], gloss)])
    assert glosses(read(tmp_path)) == {"handy": [expected]}


def test_headwords_are_as_the_synsets_write_them(tmp_path):
    synsets = [
        ("n", ["Turkey", "Republic_of_Turkey"], "a republic"),
        ("n", ["turkey"], "a bird"),
        ("s", ["out_of_reach(p)", "galore(ip)"], "not near"),
        ("a", ["former(a)"], "earlier"),
    ]
    assert glosses(read(wndb.write(tmp_path, synsets))) == {
        "Republic of Turkey": ["a republic"],
        "Turkey": ["a republic"],
        "former": ["earlier"],
        "galore": ["not near"],
        "out of reach": ["not near"],
        "turkey": ["a bird"],
    }


def test_parts_of_speech_take_turns(tmp_path):
    synsets = [(x, ["still"], f"{x} {i}") for i, x in enumerate("nnnvrsa")]
    definitions = read(wndb.write(tmp_path, synsets))
    assert glosses(definitions)["still"] == "n 0,v 3,s 5,r 4,n 1,a 6,n 2".split(
        ","
    )
    assert definitions.parts_of_speech == ("nvarnan",)


def test_equal_glosses_of_a_word_are_one(tmp_path):
    synsets = [("n", ["a", "b"], "x"), ("n", ["a"], "y"), ("v", ["a"], "x")]
    definitions = read(wndb.write(tmp_path, synsets))
    assert glosses(definitions) == {"a": ["x", "y"], "b": ["x"]}
    assert definitions.parts_of_speech == ("nn", "n")


def test_exceptions_of_one_part_of_speech_leave_rules_to_the_others(tmp_path):
    synsets = [
        ("n", ["leaf"], "green"),
        ("v", ["leave"], "go"),
        ("n", ["hi"], "greeting"),
        ("v", ["be"], "exist"),
        ("n", ["I"], "iodine"),
        ("a", ["good"], "fine"),
        ("r", ["well"], "finely"),
        ("n", ["base_on_balls"], "advance"),
    ]
    exceptions = {
        "n": [
            "leaves leaf",
            "his his",
            "is is",
            "bases_on_balls base_on_balls",
        ],
        "v": ["is be", "went go"],
        "a": ["better good well"],  # `well` is no adjective here
        "r": ["better well"],
    }
    assert read(wndb.write(tmp_path, synsets, exceptions)).lemmas == {
        "leaves": ("leaf", "leave"),
        "his": (),
        "is": ("be",),
        "bases on balls": ("base on balls",),
        "went": (),
        "better": ("good", "well"),
    }


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("nvasr"),
            st.lists(
                st.sampled_from(["a", "A", "b_c", "B_c", "d'", "d'(p)", "é"]),
                min_size=1,
                max_size=20,  # the count of words is hexadecimal
            ),
            st.sampled_from(["w", "x y", 'x y; "e"', "z (of a thing)"]),
        )
    )
)
def test_every_word_has_all_of_its_glosses(tmp_path_factory, synsets):
    folder = wndb.write(tmp_path_factory.mktemp("wordnet"), synsets)
    expected = {}
    for _, words, gloss in synsets:
        for word in words:
            word = word.removesuffix("(p)").replace("_", " ")
            gloss = gloss.removesuffix('; "e"').replace("(of", "( of")
            gloss = gloss.replace("thing)", "thing )")
            expected.setdefault(word, set()).add(gloss)
    found = glosses(read(folder))
    assert list(found) == sorted(expected)
    assert {word: set(senses) for word, senses in found.items()} == expected


def test_licence(tmp_path):
    wndb.write(tmp_path, [("n", ["a"], "x")])
    expected = "This software is provided to you,\n\nWordNet 3.0"
    assert wordnet.licence(tmp_path) == expected


@pytest.mark.parametrize(
    "name, line, message",
    [
        ("data.noun", "00000099 03 n 01 b 0 000 no bar", "a synset"),
        ("data.verb", "00000099 03 v 02 b 0 | too few", "a synset"),
        ("data.adj", "00000099 03 a xy b 0 000 | no number", "a synset"),
        ("data.adv", "00000099 03 r 00 000 | no word", "a synset"),
        ("index.noun", "b n 2 1 @ 2 0 00000099", "a word and its synsets"),
        ("index.verb", "b v", "a word and its synsets"),
        ("index.adj", "b a 0 0 0 0", "a word and its synsets"),
        ("index.adv", "b r 1 0 1 0 00000099", "offsets of synsets.*'00000099'"),
        ("noun.exc", "lonely", "a form and its lemmas"),
        ("data.noun", "\xff", "UTF-8"),
    ],
)
def test_errors_name_file_and_line(tmp_path, name, line, message):
    wndb.write(tmp_path, [("n", ["a"], "x")])
    with open(tmp_path / name, "ab") as file:
        number = (tmp_path / name).read_bytes().count(b"\n") + 1
        file.write(line.encode("latin-1") + b"\n")
    with pytest.raises(ValueError, match=f"{name}, line {number}: .*{message}"):
        read(tmp_path)


def test_missing_files_are_named(tmp_path):
    wndb.write(tmp_path, [("n", ["a"], "x")])
    (tmp_path / "index.verb").unlink()
    with pytest.raises(ValueError, match="index.verb: cannot be read"):
        read(tmp_path)


@pytest.mark.long
@pytest.mark.skipif(
    not (WORDNET / "data.noun").exists(),
    reason=f"needs WordNet 3.0 in {WORDNET} (apt install wordnet-base)",
)
def test_wordnet_3():
    definitions = read(WORDNET)
    headwords = definitions.headwords
    # The figure of Bahdanau et al., 2017, who read it in lower case.
    assert len({word.lower() for word in headwords}) == 147306
    assert len(headwords) == 148730
    assert sum(map(len, definitions.definitions)) == 206944
    found = glosses(definitions)
    assert len(found["Turkey"]) == 1 and len(found["turkey"]) == 4
    assert len(found["give up"]) == 12
    run = headwords.index("run")
    assert definitions.parts_of_speech[run].startswith("nvnv")
    assert definitions.lemmas["is"] == ("be",)
    assert definitions.lemmas["his"] == ()
    assert definitions.lemmas["leaves"] == ("leaf", "leave")
    assert not any(
        '; "' in gloss for senses in found.values() for gloss in senses
    )
    assert "Princeton University" in wordnet.licence(WORDNET)


def test_categories_have_nouns_of_their_own():
    assert list(NOUNS_BY_CATEGORY) == ["fruit", "tool", "vehicle"]
    sizes = {len(nouns) for nouns in NOUNS_BY_CATEGORY.values()}
    assert len(sizes) == 1 and min(sizes) >= 15
    nouns = list(itertools.chain(*NOUNS_BY_CATEGORY.values()))
    assert len(set(nouns)) == len(nouns)
    assert all(noun.isalpha() and noun.islower() for noun in nouns)


@pytest.mark.skipif(
    not (WORDNET / "data.noun").exists(),
    reason=f"needs WordNet 3.0 in {WORDNET} (apt install wordnet-base)",
)
def test_wordnet_defines_them_all_as_nouns():
    with open(WORDNET / "index.noun", encoding="utf-8") as file:
        known = {line.split(" ", 1)[0] for line in file}
    for nouns in NOUNS_BY_CATEGORY.values():
        assert [noun for noun in nouns if noun not in known] == []
