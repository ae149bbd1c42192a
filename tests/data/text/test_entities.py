import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfcopy.data.text.entities import (
    Entities,
    anonymise,
    common_words,
    numbers_of,
    placeholder_ids,
    restore,
)
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary, count_words
from tfcopy.tokens import SPECIAL_TOKENS

SPACE = Tokenizer("space")
MARKED = Entities(pattern=None)


def ragged(*sentences):
    return tf.RaggedTensor.from_row_lengths(
        tf.constant(sum(sentences, []), tf.string), [len(s) for s in sentences]
    )


def as_words(tensor):
    return [[word.decode() for word in row] for row in tensor.to_list()]


def keys_of(entities, source, target):
    """Keys of one pair of texts."""
    pair = entities.pair(ragged(source.split()), ragged(target.split()))
    return [" ".join(as_words(side)[0]) for side in pair]


def is_entity(entities, words):
    return entities.is_entity(tf.constant(words)).numpy().tolist()


# === Section 9, check 10, of the notes on Gulcehre et al., 2016 ===

SOURCE = "smith of acme corp met jones at acme"
TARGET = "acme hires brown"
KEYS = ["@1 of @2 @3 met @4 at @2", "@2 hires @5"]


def test_tokens_are_numbered_from_left_to_right():
    names = Entities("smith|acme|corp|jones|brown")
    assert keys_of(names, SOURCE, TARGET) == KEYS
    assert as_words(names.source(ragged(SOURCE.split()))) == [KEYS[0].split()]


def test_the_same_of_tokens_that_are_marked():
    source = "smith￨PER of acme￨B-ORG corp￨I-ORG met jones￨PER at￨O acme￨ORG"
    target = "acme￨X hires￨O brown￨PER"
    assert keys_of(MARKED, source, target) == KEYS
    words = MARKED.surfaces(ragged(source.split(), target.split()))
    assert as_words(words) == [SOURCE.split(), TARGET.split()]


# === Which tokens they are ===


def test_capitals_and_figures_are_entities_by_default():
    names = "Łukasz ǅ O'Brien mp3 1,000 ٣ @7 @0 Ελλάδα WHO".split()
    others = "The I Who UNK <unk> iPhone word 北京 🙂 . #.## @".split()
    assert is_entity(Entities(), names) == [True] * len(names)
    assert is_entity(Entities(), others) == [False] * len(others)


def test_a_token_is_an_entity_wherever_it_stands():
    source, target = "Acme said : Acme pays", "The boss of Acme pays"
    assert keys_of(Entities(), source, target) == [
        "@1 said : @1 pays",
        "The boss of @1 pays",
    ]
    # What is excepted can be chosen, too.
    every = Entities(exceptions="")
    assert keys_of(every, source, target)[1] == "@2 boss of @1 pays"


def test_case_may_be_ignored():
    source, target = "ACME met Łukasz", "Acme ŁUKASZ acme"
    assert keys_of(Entities(), source, target) == ["@1 met @2", "@3 @4 acme"]
    lower = keys_of(Entities(lowercase=True), source, target)
    assert lower == ["@1 met @2", "@1 @2 acme"]


def test_marks_need_a_token_and_a_tag():
    words = ["a￨ORG", "a￨O", "a", "￨ORG", "a￨", "a￨b￨ORG", "<unk>￨ORG", "A1"]
    assert is_entity(MARKED, words) == [True] + 4 * [False] + [True] + 2 * [
        False
    ]
    shown = [x.decode() for x in MARKED.surfaces(tf.constant(words)).numpy()]
    assert shown == ["a", "a", "a", "￨ORG", "a", "a￨b", "<unk>", "A1"]


@pytest.mark.parametrize("entities", [Entities("none"), MARKED])
def test_what_looks_like_a_placeholder_is_one_of_ours(entities):
    """A text cannot name the entities of another."""
    assert keys_of(entities, "x @7 @7 @0", "@1 @7") == ["x @1 @1 @0", "@2 @1"]


@pytest.mark.parametrize("name", ["pattern", "exceptions"])
def test_a_wrong_expression_is_named(name, capfd):
    with pytest.raises(
        ValueError, match=rf"`{name}`.*\(missing \): \(a\)\..*'\(a'"
    ):
        Entities(**{name: "(a"})


def test_fingerprint_tells_all_choices_apart():
    choices = [
        Entities(),
        Entities("[A-Z].*"),
        Entities(exceptions="the"),
        Entities(lowercase=True),
        MARKED,
    ]
    assert len({choice.fingerprint for choice in choices}) == len(choices)
    assert Entities().fingerprint == Entities().fingerprint


# === And back ===


def test_numbers_of_placeholders():
    words = [*"@1 @12 @0 @01 @ 1 x@1 @1x @1234567890".split(), ""]
    found = numbers_of(tf.constant([words]))
    assert found.dtype == tf.int32
    assert found.numpy().tolist() == [[1, 12] + [0] * 8]


def test_restores_the_first_word_or_nothing():
    words = restore(
        tf.constant([["@2", "x", "@1", "@3"], ["@1", "@1", "", "y"]]),
        tf.constant([["a", "@1", "@2", "@1"], ["", "", "", ""]]),
        tf.constant([["a", "ACME", "B", "Acme"], ["", "", "", ""]]),
    )
    assert [[w.decode() for w in row] for row in words.numpy()] == [
        ["B", "x", "ACME", "<unk>"],
        ["<unk>", "<unk>", "", "y"],
    ]
    empty = restore(
        tf.constant([["@1"]]),
        tf.zeros([1, 0], tf.string),
        tf.zeros([1, 0], tf.string),
    )
    assert empty.numpy() == b"<unk>"


def round_trip(entities):
    """Anonymises pairs and restores them, in one graph."""
    spec = tf.RaggedTensorSpec([None, None], tf.string)

    @tf.function(input_signature=[spec] * 2, autograph=False)
    def function(source, target):
        keys = entities.pair(source, target)
        alone = entities.source(source).to_tensor("")
        shown = entities.surfaces(source).to_tensor("")
        back = [restore(side.to_tensor(""), alone, shown) for side in keys]
        return *keys, *back

    return function


GRAPHS = {"matched": round_trip(Entities()), "marked": round_trip(MARKED)}
WORD = st.sampled_from(
    "Łukasz acme Acme 北京 O'Brien the The @1 7 <unk>".split()
)
TAG = st.sampled_from(["", "￨O", "￨ORG"])


@given(
    st.sampled_from(sorted(GRAPHS)),
    st.lists(
        st.tuples(
            st.lists(st.tuples(WORD, TAG), max_size=8),
            st.lists(st.tuples(WORD, TAG), max_size=5),
        ),
        max_size=4,
    ),
)
@example("matched", [])
@example("marked", [([("acme", "￨ORG")], [("acme", "")])])
@settings(max_examples=60)
def test_what_was_anonymised_comes_back(kind, pairs):
    tagged = kind == "marked"
    sides = [
        [[w + t * tagged for w, t in pair[side]] for pair in pairs]
        for side in (0, 1)
    ]
    *keys, source, target = GRAPHS[kind](*(ragged(*side) for side in sides))
    keys = [as_words(side) for side in keys]
    entities = MARKED if tagged else Entities()
    for i, pair in enumerate(pairs):
        words = [[word for word, _ in side] for side in pair]
        named = [
            is_entity(entities, side[i]) if side[i] else [] for side in sides
        ]
        found = [
            [x.decode() for x in side.numpy()[i] if x]
            for side in (source, target)
        ]
        assert found[0] == words[0]
        # A name that the source has not cannot come back.
        there = {w for w, is_named in zip(words[0], named[0]) if is_named}
        assert found[1] == [
            w if not is_named or w in there else "<unk>"
            for w, is_named in zip(words[1], named[1])
        ]
        # Numbers are those of the order in which entities come.
        order = dict.fromkeys(
            w
            for side, flags in zip(words, named)
            for w, is_named in zip(side, flags)
            if is_named
        )
        numbers = {w: f"@{n}" for n, w in enumerate(order, 1)}
        for side, flags, row in zip(words, named, (keys[0][i], keys[1][i])):
            assert row == [
                numbers[w] if is_named else w
                for w, is_named in zip(side, flags)
            ]


# === Texts with placeholders ===


def test_anonymised_texts_are_cut_and_folded():
    tokenizers = (Tokenizer(lowercase=True), Tokenizer(lowercase=True))
    pairs = [("He met Acme , Jones and ACME.", b"ACME Hires Brown Jones")]
    names = Entities("[A-Z]{2}.*|Jones|Acme|Brown", lowercase=True)
    found = list(anonymise(pairs, names, tokenizers))
    assert found == [("he met @1 , @2 and @1 .", "@1 hires @3 @2")]
    found = list(anonymise(pairs, names, tokenizers, (3, 3)))
    assert found == [("he met @1", "@1 hires @2")]


def test_placeholders_are_counted():
    names = Entities("smith|acme|corp|jones|brown")
    texts = anonymise(iter([(SOURCE, TARGET)] * 10), names, (SPACE, SPACE))
    source, target = count_words(texts, (SPACE, SPACE), progress=False)
    assert source == {
        word: 10 * count
        for word, count in {
            **{"@1": 1, "@2": 2, "@3": 1, "@4": 1},
            **{"of": 1, "met": 1, "at": 1},
        }.items()
    }
    assert target == {"@2": 10, "hires": 10, "@5": 10}


# === Headlines with capitals throughout ===


def test_common_words_are_mostly_in_lower_case():
    texts = [
        "Bears claw back . Bears ? The bears of Wall St. !",
        "Apple grows . An apple , or Apple .",
        "élan , Élan ; US and us ; 3d",
    ]
    found = common_words(texts, Tokenizer(language="en", lowercase=True))
    # "bears": once, with a capital twice; "apple" as well.
    assert found == tuple("3d and back claw grows of or us élan".split())


def test_common_words_are_no_entities():
    words = ["Claw", "claw", "CLAW", "Élan", "Bears", "US", "Us", "3d", "@4"]
    plain = is_entity(Entities(), words)
    assert plain == [True, False, True, True, True, True, True, True, True]
    names = Entities(common=("claw", "us", "élan"))
    found = is_entity(names, words)
    assert found == [False, False, True, False, True, True, False, True, True]
    assert names.fingerprint != Entities().fingerprint
    assert len(names.fingerprint) < len(Entities().fingerprint) + 30


def test_placeholders_of_a_vocabulary():
    words = Vocabulary([*SPECIAL_TOKENS, "@1", "a@1", "@01", "@12", "@"])
    assert placeholder_ids(words) == (4, 7)
