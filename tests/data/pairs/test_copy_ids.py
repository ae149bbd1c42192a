import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.pairs.copy_ids import (
    decode,
    encode_pairs,
    encode_source,
    pointers,
)
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.tokens import EOS, GENERATE, NO_COPY, SPECIAL_TOKENS, UNK, UNMATCHED


def vocabulary(words):
    return Vocabulary([*SPECIAL_TOKENS, *words.split()])


def ragged(*sentences):
    return tf.RaggedTensor.from_row_lengths(
        tf.constant(sum(sentences, []), tf.string), [len(s) for s in sentences]
    )


# Section 9, check 9, of the notes on Gulcehre et al., 2016.
SOURCE = "the commission visited strasbourg and flanders".split()
TARGET = "la commission a visité strasbourg et flandre namur".split()
ENGLISH = vocabulary("the commission visited and")
FRENCH = vocabulary("la commission a visité et")
FLANDERS = Dictionary([("flandre", "flanders", 1.0)])


def encode_one(**options):
    ids = encode_pairs(
        ragged(SOURCE), ragged(TARGET), ENGLISH, FRENCH, **options
    )
    return {key: value.to_list()[0] for key, value in ids.items()}


def test_labels_of_the_europarl_example():
    ids = encode_one(dictionary=FLANDERS)
    assert ids["pointers"] == [-1, -1, -1, -1, 3, -1, 5, UNMATCHED, -1]
    size = FRENCH.size
    assert ids["target_ids"] == [4, 5, 6, 7, size + 3, 8, UNK, UNK, EOS]
    assert ids["source_ids"] == [4, 5, 6, UNK, 7, UNK, EOS]
    assert ids["source_copy_ids"] == [
        *(size, 5, size + 2, size + 3, size + 4, size + 5, NO_COPY),
    ]


def test_pointers_of_ids_are_those_of_the_words():
    ids = encode_one(unmatched="unk")
    found = pointers([ids["target_ids"]], [ids["source_copy_ids"]], FRENCH.size)
    assert found.tolist() == [ids["pointers"]] and found.dtype == "int32"
    # The first of two places; padding is generated.
    found = pointers([[9, 4, 3, 0], [9, 3, 0, 0]], [[4, 9, 9], [9, 4, 0]], 9)
    assert found.tolist() == [[1, -1, -1, -1], [0, -1, -1, -1]]


def test_a_copied_word_that_the_source_lacks_is_told():
    with pytest.raises(ValueError, match="has 9 in row 1, which is not in"):
        pointers([[9, 3], [4, 9]], [[9, 4], [4, 0]], 9)


def test_labels_under_the_other_policies():
    ids = encode_one(dictionary=FLANDERS, unmatched="unk")
    assert ids["pointers"] == [-1, -1, -1, -1, 3, -1, 5, GENERATE, -1]
    assert encode_one()["pointers"] == [-1, -1, -1, -1, 3, -1, -2, -2, -1]
    assert encode_one(label_pointers=False)["pointers"] == [GENERATE] * 9
    with pytest.raises(ValueError, match="`unmatched`.*'drop'"):
        encode_one(unmatched="drop")


def test_source_side_alone_gives_the_same_in_a_graph():
    graph = tf.function(
        lambda words: encode_source(words, ENGLISH, FRENCH),
        input_signature=[tf.RaggedTensorSpec([None, None], tf.string)],
        autograph=False,
    )
    words = ragged(SOURCE, [], ["x", "x", "the"])
    pairs = encode_pairs(words, ragged([], [], []), ENGLISH, FRENCH)
    source_ids, copy_ids = graph(words)
    assert source_ids.to_list() == pairs["source_ids"].to_list()
    assert copy_ids.to_list() == pairs["source_copy_ids"].to_list()
    assert copy_ids.to_list()[1:] == [[-1], [9, 9, 11, -1]]
    bare, _ = encode_source(words, ENGLISH, FRENCH, append_eos=False)
    assert bare.to_list()[1:] == [[], [UNK, UNK, 4]]


LOWER = Tokenizer("space", lowercase=True).fold


def test_each_vocabulary_has_the_form_of_its_own_side():
    words = ragged(["THE", "COMMISSION", "Łukasz", "łukasz"])
    size = FRENCH.size
    ids, copy_ids = encode_source(words, ENGLISH, FRENCH, fold_source=LOWER)
    assert ids.to_list() == [[4, 5, UNK, UNK, EOS]]
    assert copy_ids.to_list() == [[size, size + 1, size + 2, size + 3, NO_COPY]]
    ids, copy_ids = encode_source(words, ENGLISH, FRENCH, fold_target=LOWER)
    assert ids.to_list() == [[UNK, UNK, UNK, UNK, EOS]]
    assert copy_ids.to_list() == [[size, 5, size + 2, size + 2, NO_COPY]]


def test_ids_are_decoded_to_words():
    ids = encode_pairs(
        ragged(SOURCE, []), ragged(TARGET, ["la"]), ENGLISH, FRENCH
    )["target_ids"]
    words = "la commission a visité strasbourg et <unk> <unk>".split()
    assert decode(ids, [SOURCE, []], FRENCH) == [words, ["la"]]
    padded = ids.to_tensor()
    assert decode(padded, ragged(SOURCE, []), FRENCH) == [words, ["la"]]
    _, copy_ids = encode_source(ragged(SOURCE), ENGLISH, FRENCH)
    assert decode(copy_ids.numpy(), [SOURCE], FRENCH) == [SOURCE]


def test_ids_that_no_source_explains_are_refused():
    with pytest.raises(ValueError, match=f"position {len(SOURCE)} of the"):
        decode([[FRENCH.size + len(SOURCE)]], [SOURCE], FRENCH)
    with pytest.raises(ValueError, match="as many rows. Received: 2 and 1"):
        decode([[4], [4]], [SOURCE], FRENCH)


# Section 9, check 10, of the same notes.
NAMES = Entities("smith|acme|corp|jones|brown")
MEETING = "smith of acme corp met jones at acme".split()


def encode_meeting(target, *vocabularies, **options):
    sides = ragged(MEETING), ragged(target.split())
    return encode_pairs(*sides, *vocabularies, entities=NAMES, **options)


def test_labels_of_placeholders():
    """Those that the source has are pointed at, though they are words."""
    source, target = vocabulary("@1 @2 @3 @4 of"), vocabulary("hires @5 @2")
    ids = encode_meeting("acme hires brown", source, target, unmatched="unk")
    ids = {key: value.to_list()[0] for key, value in ids.items()}
    assert ids["pointers"] == [2, GENERATE, GENERATE, GENERATE]
    # What is pointed at keeps its own id, which is what the decoder reads.
    assert ids["target_ids"] == [6, 4, 5, EOS]
    assert ids["source_ids"] == [4, 8, 5, 6, UNK, 7, UNK, 5, EOS]
    size = target.size
    unknown = [size + i for i in range(8)]
    copy_ids = [*unknown[:2], 6, *unknown[3:7], 6, NO_COPY]
    assert ids["source_copy_ids"] == copy_ids


def test_placeholders_that_the_vocabulary_lacks():
    """They are like any other unknown word."""
    words = vocabulary("hires of")
    for unmatched, label in (("unk", GENERATE), ("attention_argmax", -2)):
        ids = encode_meeting(
            "acme hires brown", words, words, unmatched=unmatched
        )
        assert ids["pointers"].to_list() == [[2, GENERATE, label, GENERATE]]
        assert ids["target_ids"].to_list() == [[words.size + 2, 4, UNK, EOS]]


def test_unknown_words_beside_placeholders_are_pointed_at():
    words = vocabulary("@1 @2 hires")
    ids = encode_meeting("met jones hires acme <unk>", words, words)
    assert ids["pointers"].to_list() == [[4, 5, -1, 2, -1, -1]]
    size = words.size
    assert ids["target_ids"].to_list() == [[size + 4, size + 5, 6, 5, UNK, EOS]]
    assert encode_pairs(
        ragged(MEETING),
        ragged(["acme"]),
        words,
        words,
        entities=NAMES,
        label_pointers=False,
    )["pointers"].to_list() == [[GENERATE, GENERATE]]


def test_keys_of_the_source_do_not_depend_on_the_target():
    words = vocabulary("@1 @2 of")
    pairs = encode_pairs(
        ragged(MEETING, []), ragged(["brown"], []), words, words, entities=NAMES
    )
    alone = encode_source(ragged(MEETING, []), words, words, entities=NAMES)
    for found, key in zip(alone, ("source_ids", "source_copy_ids")):
        assert found.to_list() == pairs[key].to_list()


def naive(source, target, english, french, dictionary, unmatched):
    """The rules of the docstring, word by word."""
    size, first = french.size, {}
    for i, word in enumerate(source):
        first.setdefault(word, i)
    first.pop("<unk>", None)
    copy_ids = [
        NO_COPY
        if word == "<unk>"
        else french.id(word)
        if word in french
        else size + first[word]
        for word in source
    ]
    target_ids, pointers = [], []
    for word in target:
        known = word in french or word == "<unk>"
        reach = [first[s] for s in dictionary.senses(word) if s in first]
        literal = first.get(word)
        target_ids.append(
            french.id(word) if known or literal is None else size + literal
        )
        if known:
            pointers.append(GENERATE)
        elif literal is not None:
            pointers.append(literal)
        elif reach:
            pointers.append(reach[0])
        else:
            pointers.append(
                UNMATCHED if unmatched == "attention_argmax" else GENERATE
            )
    return {
        "source_ids": [english.id(word) for word in source] + [EOS],
        "source_copy_ids": copy_ids + [NO_COPY],
        "target_ids": target_ids + [EOS],
        "pointers": pointers + [GENERATE],
    }


def typed(words, capitals):
    """The words, if asked for every other one in upper case."""
    return [w.upper() if capitals and i % 2 else w for i, w in enumerate(words)]


WORD = st.sampled_from(["a", "b", "c", "d", "é", "北京", "<unk>", "</s>"])
SENTENCES = st.lists(st.tuples(st.lists(WORD), st.lists(WORD)), max_size=4)


@given(
    pairs=SENTENCES,
    known=st.lists(st.sampled_from("abcd"), unique=True),
    entries=st.lists(
        st.tuples(WORD.filter("<unk>".__ne__), WORD, st.just(0.5)), max_size=4
    ),
    unmatched=st.sampled_from(["attention_argmax", "unk"]),
    capitals=st.booleans(),
)
@settings(max_examples=60)
def test_equals_the_rules_word_by_word(
    pairs, known, entries, unmatched, capitals
):
    english, french = vocabulary("a c é"), vocabulary(" ".join(known))
    dictionary = Dictionary(entries)
    ids = encode_pairs(
        ragged(*(typed(source, capitals) for source, _ in pairs)),
        ragged(*(typed(target, capitals) for _, target in pairs)),
        english,
        french,
        dictionary=dictionary,
        unmatched=unmatched,
        **({"fold_source": LOWER, "fold_target": LOWER} if capitals else {}),
    )
    expected = [
        naive(*pair, english, french, dictionary, unmatched) for pair in pairs
    ]
    for key, value in ids.items():
        assert value.dtype == tf.int32
        assert value.to_list() == [sentence[key] for sentence in expected]
    if not capitals:
        assert decode(ids["target_ids"], [s for s, _ in pairs], french) == [
            [
                word if word in french or word in source else "<unk>"
                for word in target
            ]
            for source, target in pairs
        ]
