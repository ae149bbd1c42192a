import pathlib

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.serving.servables.encoded_search import search_all
from tests.serving.servables.translators import (
    NAMES,
    SOURCE,
    TARGET,
    assert_close_answers,
    copier,
    eagerly,
    everything,
    random_translator,
    sentences,
)
from tfcopy.data import (
    Dictionary,
    Tokenizer,
    Vocabulary,
    encode,
    evaluation_batches,
    tokenize,
)
from tfcopy.decoding import SearchOptions
from tfcopy.serving.servables.translation import read_sources


@pytest.fixture(scope="module")
def copying():
    return copier()


@pytest.fixture(scope="module")
def random(random_served):
    return random_served


def answers(translator, texts):
    outputs = translator.translate(tf.constant(texts, tf.string))
    return [text.decode() for text in outputs["text"].numpy()]


def test_unknown_names_come_back_as_typed(copying):
    texts = [f"the session of {x} , {x.lower()} and {x} ." for x in NAMES]
    assert answers(copying, texts) == texts
    assert answers(copying, texts[:1]) == texts[:1]


def test_blanks_that_a_model_never_saw_are_spaces(copying):
    texts = ["the\u00a0session", "of\u202f\u200b北京\u3000.", "\u00a0the"]
    plain = ["the session", "of 北京 .", "the"]
    assert answers(copying, texts) == answers(copying, plain) == plain
    known = Vocabulary([*SOURCE.words, "\u00a0"])
    copying = copying.copy(
        source_vocabulary=known, source_tokenizer=Tokenizer()
    )
    assert answers(copying, texts[::2]) == texts[::2]


def test_a_blank_text_has_an_empty_answer(eagerly, random):
    texts = ["", "  \t\n", "\0\x1f", "\u200b\u3000", "the session"]
    outputs = random.analyse(tf.constant(texts))
    assert outputs["text"].numpy().tolist()[:4] == [b""] * 4
    assert outputs["score"].numpy().tolist()[:4] == [0.0] * 4
    assert outputs["text"].numpy()[4] and outputs["score"].numpy()[4] < 0
    assert not np.any(outputs["tokens"].numpy()[:4] != b"")
    assert answers(random, ["", " "]) == ["", ""]


def test_sources_may_lack_eos(eagerly):
    translator = copier(append_eos=False)
    outputs = translator.analyse(tf.constant(["of 北京", "", "Łukasz"]))
    expected = ["of 北京".encode(), b"", "Łukasz".encode()]
    assert outputs["text"].numpy().tolist() == expected
    source = [[b"of", "北京".encode()], [b"", b""]]
    assert outputs["source_tokens"].numpy()[:2].tolist() == source
    assert translator.analyse(tf.constant([""]))["text"].numpy() == [b""]


@pytest.mark.long
def test_a_graph_of_all_options_answers_as_python_does():
    """So that tests of some of them need no graph."""
    translator = everything()
    texts = tf.constant([*sentences(12), "", "The Session of Kowalski", "x"])
    found = translator.analyse(texts)
    with eagerly():
        expected = translator.analyse(texts)
    assert_close_answers(found, expected)


def test_a_batch_of_nothing_has_no_answers(eagerly, random):
    assert answers(random, []) == []
    outputs = random.analyse(tf.constant([], tf.string))
    assert {x.shape[0] for x in outputs.values()} == {0}


def test_words_are_known_in_any_case_and_come_back_as_typed(eagerly):
    text = "THE Session of ŁUKASZ , Łukasz And İstanbul"
    lower = copier(source_tokenizer=Tokenizer(language="en", lowercase=True))
    assert answers(lower, [text]) == [text]

    typed = copier(source_tokenizer=Tokenizer(language="en"))
    rows = [
        read_sources(translator, tf.constant([text]), [0]).ids.numpy()
        for translator in (lower, typed)
    ]
    expected = SOURCE.lookup(tf.constant("the session of".split())).numpy()
    assert rows[0][0, :3].tolist() == expected.tolist()
    assert rows[1][0, :2].tolist() == [1, 1]


def _words(text):
    # The model never saw a blank other than a space.
    words = tokenize(tf.constant([text]), language="en", blanks="")
    return [word.decode() for word in words.to_list()[0]]


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=40),
        st.text(max_size=40).map(lambda x: x.encode("utf-8", "surrogatepass")),
        st.text("\0\x01\x02\x7f\x85\u2028\ufeff a'.é", max_size=30).map(
            lambda x: x.encode()
        ),
    )
)
@example(b"\xff\xfe\x00")
@example("! \xa0".encode())
@example("\ud800".encode("utf-8", "surrogatepass"))
@example("e\u0301 👍🏽 \u202e \U0010ffff".encode())
def test_any_bytes_get_an_answer(copying, text):
    words = _words(text)[:20]
    if "<unk>" not in words:
        assert answers(copying, [text]) == [" ".join(words)]


@pytest.mark.long
def test_a_megabyte_is_cut(copying):
    outputs = copying.analyse(tf.constant(["ab " * 350_000, "x" * 1_000_000]))
    source = outputs["source_tokens"].numpy()
    assert source.shape == (2, 21)
    assert source[0].tolist() == [b"ab"] * 20 + [b"</s>"]
    assert outputs["text"].numpy()[0] == b" ".join([b"ab"] * 20)
    assert outputs["text"].numpy()[1] == b"x" * 1_000_000


# TensorFlow's products of other processors take rows by sixes, not by eights.
_CPUINFO = pathlib.Path("/proc/cpuinfo")
_HAS_AVX512 = _CPUINFO.exists() and "avx512f" in _CPUINFO.read_text()


@pytest.mark.long
@pytest.mark.parametrize("num_beams", [1, 3])
def test_an_answer_does_not_depend_on_the_batch(num_beams):
    options = SearchOptions(num_beams=num_beams, max_length=10, min_length=2)
    random = random_translator(dims=(32, 64), options=options)
    texts = sentences(24)
    together = random.translate(tf.constant(texts))
    assert len(set(together["text"].numpy())) > 12
    for size in (1, 3, 8, 17):
        parts = [texts[i : i + size] for i in range(0, len(texts), size)]
        found = [random.translate(tf.constant(part)) for part in parts]
        for name, expected in together.items():
            joined = tf.concat([part[name] for part in found], axis=0)
            if name == "text" or _HAS_AVX512:
                # To the last bit.
                np.testing.assert_array_equal(joined, expected)
            else:
                np.testing.assert_allclose(joined, expected, rtol=1e-5)


def test_what_is_cut_off_may_be_the_best_answer(eagerly, random):
    """Served as in Python; `test_beam_search` has the rule."""
    texts = tf.constant(sentences(12))
    answers, scores = {}, {}
    for compete in (False, True):
        options = SearchOptions(
            num_beams=3, max_length=2, unfinished_compete=compete
        )
        translator = random.copy(options=options)
        found = translator.translate(texts)
        answers[compete] = found["text"].numpy()
        scores[compete] = found["score"].numpy()
    assert (scores[True] >= scores[False]).all()
    assert (scores[True] > scores[False]).any()
    assert (answers[True] != answers[False]).any()


def test_analyse_tells_where_words_come_from(eagerly, random):
    texts = ["the session of Łukasz is open .", "北京 .", ""]
    best = random.translate(tf.constant(texts))
    outputs = {
        k: x.numpy() for k, x in random.analyse(tf.constant(texts)).items()
    }
    longest = outputs["tokens"].shape[2]
    assert {name: x.shape for name, x in outputs.items()} == {
        "text": (3,),
        "score": (3,),
        "texts": (3, 3),
        "scores": (3, 3),
        "tokens": (3, 3, longest),
        "source_tokens": (3, 8),
        "copied_from": (3, 3, longest),
        "generate_probability": (3, 3, longest),
        "attention": (3, 3, longest, 8),
    }
    np.testing.assert_array_equal(outputs["text"], best["text"])
    np.testing.assert_allclose(outputs["score"], best["score"], atol=1e-5)
    np.testing.assert_array_equal(outputs["texts"][:, 0], best["text"])
    assert np.all(np.diff(outputs["scores"], axis=1) <= 0)
    is_word = outputs["tokens"] != b""
    np.testing.assert_allclose(outputs["attention"].sum(-1), is_word, atol=1e-5)
    assert np.any(outputs["copied_from"] >= 0)
    for row, n, t in zip(*np.nonzero(outputs["copied_from"] >= 0)):
        position = outputs["copied_from"][row, n, t]
        source = outputs["source_tokens"][row, position]
        assert outputs["tokens"][row, n, t] == source
    assert outputs["source_tokens"][1].tolist()[:4] == [
        "北京".encode(),
        b".",
        b"</s>",
        b"",
    ]


def test_translate_all_keeps_the_order(random, copying):
    texts = sentences(30)
    found = random.translate_all(texts, batch_size=7, progress=False)
    assert [answer.text for answer in found] == answers(random, texts)
    answer = copying.translate_all(["of  Łukasz.".encode()], progress=False)[0]
    assert answer.text == "of Łukasz ."
    assert answer.tokens == ["of", "Łukasz", "."]
    assert answer.copied_from == [0, 1, 2]
    # One more than the words: the end is emitted as well.
    assert len(answer.generate_probs) == 4
    assert all(0 <= p <= 1 for p in answer.generate_probs)
    assert answer.source_tokens == ["of", "Łukasz", ".", "</s>"]
    assert random.translate_all([], progress=False) == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["random", "copying"])
def test_n_best_all_gives_the_best_first(request, name):
    translator = request.getfixturevalue(name)
    texts = [*sentences(12), "", "Łukasz Łukasz"]
    found = translator.n_best_all(texts, batch_size=5, progress=False)
    outputs = translator.analyse(tf.constant(texts))
    rows = zip(outputs["texts"].numpy(), outputs["scores"].numpy() > -1e8)
    expected = [[text.decode() for text in row[found]] for row, found in rows]
    # The copier is sure of one; its other hypothesis is none. A blank text
    # has one answer.
    assert {len(row) for row in expected} == {1, 3 if name == "random" else 1}
    assert [[x.text for x in row] for row in found] == expected
    best = translator.translate_all(texts, progress=False)
    assert [row[0].text for row in found] == [x.text for x in best]
    assert translator.n_best_all([], progress=False) == []


def test_no_text_is_told_twice(eagerly, random):
    """Copied names are spelt as a word that is generated, too."""
    dictionary = Dictionary([(name, "session", 1.0) for name in NAMES])
    options = SearchOptions(12, max_length=2, unfinished_compete=True)
    translator = random.copy(dictionary=dictionary, options=options)
    outputs = translator.analyse(tf.constant([" ".join(NAMES), ""]))
    outputs = {name: x.numpy() for name, x in outputs.items()}
    texts, scores = outputs["texts"], outputs["scores"]
    for row, found in zip(texts, (scores > -1e8).sum(axis=1)):
        assert 1 <= found < 12 and len(set(row[:found])) == found
        assert set(row[found:]) == {b""}
    assert np.all(np.diff(scores) <= 0)
    is_word = outputs["tokens"] != b""
    assert not is_word[scores < -1e8].any()
    assert np.all(outputs["copied_from"][~is_word] == -1)
    np.testing.assert_allclose(outputs["attention"].sum(-1), is_word, atol=1e-5)


@pytest.mark.long
def test_search_all_agrees_with_translate_all(random):
    pairs = [(text, "la session") for text in sentences(9) if text]
    encoded = encode(pairs, random.source_vocabulary, TARGET, progress=False)
    ids, copied_from, scores = search_all(
        random, evaluation_batches(encoded, 4), len(encoded), progress=False
    )
    found = random.translate_all([x for x, _ in pairs], progress=False)
    for i, answer in enumerate(found):
        length = len(answer.tokens)
        assert copied_from[i, :length].tolist() == answer.copied_from
        assert abs(scores[i] - answer.score) < 1e-4
        for word, number in zip(answer.tokens, ids[i]):
            assert number >= TARGET.size or TARGET.words[number] == word


def test_unk_stays_or_becomes_the_word_attended_to(eagerly):
    text = "of Łukasz <unk> ."
    assert answers(copier(generate_unk=True), [text]) == [
        "<unk> <unk> <unk> <unk>"
    ]
    replacing = copier(generate_unk=True, replace_unk=True)
    # Attention to a literal <unk>, whose identity is lost, finds no word.
    assert answers(replacing, [text]) == ["of Łukasz of ."]
    assert answers(replacing, ["<unk>"]) == ["<unk>"]
    found = replacing.translate_all(["of Łukasz"], progress=False)[0]
    assert found.copied_from == [0, 1]


def test_a_dictionary_translates_words_pointed_at(eagerly):
    dictionary = Dictionary(
        [("open", "ouverte", 0.6), ("open", "ouvert", 0.4), ("de", "von", 1)]
    )
    translator = copier(dictionary=dictionary)
    # "de" is a word of the target vocabulary.
    assert answers(translator, ["Łukasz is open de"]) == [
        "Łukasz is ouverte de"
    ]


def test_only_the_candidates_are_generated(eagerly, random):
    few = [0, 1, 2, 3, TARGET.id("session"), TARGET.id(".")]
    texts = list(sentences(6))
    found = random.copy(candidate_ids=few).translate_all(texts, progress=False)
    generated = {
        word
        for answer in found
        for word, place in zip(answer.tokens, answer.copied_from)
        if place < 0
    }
    assert generated and generated <= {TARGET.words[i] for i in few}


@pytest.mark.long
def test_a_shortlist_generates_translations_of_the_sources_words(
    eagerly, random
):
    always = [0, 1, 2, 3, TARGET.id(".")]
    words = {"the": ["la", "le"], "session": ["session"], "open": ["nowhere"]}
    dictionary = Dictionary(
        (word, sense, 1.0) for word, senses in words.items() for sense in senses
    )
    few = random.copy(candidate_ids=always, shortlist=dictionary)
    texts = list(sentences(12))
    together = few.translate_all(texts, batch_size=12, progress=False)
    generated = set()
    for text, answer in zip(texts, together):
        allowed = {TARGET.words[i] for i in always}
        for word in text.split():
            allowed |= set(words.get(word, ()))
        said = [w for w, i in zip(answer.tokens, answer.copied_from) if i < 0]
        assert set(said) <= allowed
        generated |= set(said)
        alone = few.translate_all([text], progress=False)[0]
        assert alone.text == answer.text
        assert abs(alone.score - answer.score) < 1e-5
    assert generated - {TARGET.words[i] for i in always}


def test_text_is_detokenised(eagerly):
    translator = copier(target_tokenizer=Tokenizer(language="en"))
    text = "Mr. Łukasz, O'Brien-Şahin's “session” (of 北京) isn't open!"
    assert answers(translator, [text]) == [text]


def test_arguments_that_make_no_sense_are_refused(random):
    with pytest.raises(ValueError, match="target vocabulary has 11"):
        random.copy(target_vocabulary=random.source_vocabulary)
    with pytest.raises(ValueError, match="max_source_length"):
        random.copy(max_source_length=0)


def test_copy_changes_what_is_named(eagerly, copying):
    greedy = copying.copy(options=SearchOptions(num_beams=1, max_length=4))
    assert greedy.model is copying.model
    outputs = greedy.analyse(tf.constant(["the session of 北京"]))
    assert outputs["texts"].shape == (1, 1)
    assert outputs["tokens"].shape[2] <= 4
