"""Served models that keep spans of markup and say given translations."""

import dataclasses

import numpy as np
import pytest
import re2
import tensorflow as tf

from tests.serving.servables import translators
from tfcopy.data import Tokenizer
from tfcopy.data.text.answer_check import find_touched
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.span_patterns import ORDERED, spans_of
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.decoding import SearchOptions
from tfcopy.runtime import answer_lines, local_model
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving import ask, saved_model
from tfcopy.serving.servables import settings
from tfcopy.serving.servables.translator import Translator

pytestmark = pytest.mark.optimised_graphs
PROTECTED = ProtectedTokenizer(Tokenizer("space"), ("rst", "html"))
TOKENIZERS = {"source_tokenizer": PROTECTED, "target_tokenizer": PROTECTED}
GLOSSARY = Glossary([("the session", "la séance"), ("is", "``est``")])
TEXTS = [
    "the ``a b`` of ``a b`` is ``c``",
    "the session",
    "",
    "<b> :mod:`x y` </b> </s> , <unk>",
    "``is`` the sessions is .",
]


@pytest.fixture(scope="module")
def saying(tmp_path_factory):
    """A copier that says terms; each of its graphs is made once."""
    translator = translators.copier(glossary=GLOSSARY, **TOKENIZERS)
    return translator.with_files(tmp_path_factory.mktemp("words"))


def must_copy(**options):
    search = SearchOptions(
        num_beams=3, max_length=12, must_copy=True, forbid_unk=True
    )
    return translators.random_translator(
        options=search, **TOKENIZERS, **options
    )


def test_all_spans_come_back_and_no_others():
    """From a random model, whose vocabulary has spans of its own."""
    words = [*translators.TARGET.words[:-2], "``c``", "``d``"]
    translator = must_copy()
    translator = Translator(
        translator.model,
        translator.source_vocabulary,
        Vocabulary(words),
        **TOKENIZERS,
        options=translator.options,
    )
    assert [words[i] for i in translator._spans] == ["``c``", "``d``"]
    plain = translator.copy(
        options=dataclasses.replace(translator.options, must_copy=False)
    )
    with translators.eagerly():
        found = translator.translate(tf.constant(TEXTS))
        without = plain.translate(tf.constant(TEXTS))
    assert found["text"].numpy().tolist() != without["text"].numpy().tolist()
    for source, answer in zip(TEXTS, found["text"].numpy()):
        names = PROTECTED.protect
        expected = [x for x in spans_of(source, names) if x != "<unk>"]
        assert sorted(spans_of(answer.decode(), names)) == sorted(expected)


@pytest.mark.long
def test_placeholders_without_numbers_keep_their_order():
    tokenizer = ProtectedTokenizer(Tokenizer("space"), ("placeholders",))
    search = SearchOptions(num_beams=3, max_length=12, must_copy=True)
    translator = translators.random_translator(
        options=search, source_tokenizer=tokenizer, target_tokenizer=tokenizer
    )
    texts = ["%s %(a)s %d of %s {x} %.2f", "{} {:>5} of {0} {}", "%2$s %d %1$s"]
    free = []
    for text in texts:
        found = translator.translate(tf.constant([text]))["text"].numpy()
        answer = [x for x in found[0].decode().split() if x in text.split()]
        wanted = [x for x in text.split() if x != "of"]
        ordered = [x for x in wanted if re2.fullmatch(ORDERED, x)]
        assert [x for x in answer if x in ordered] == ordered
        assert sorted(x for x in answer if x != "of") == sorted(wanted)
        free.append([x for x in answer if x != "of"] != wanted)
    assert any(free)  # Others stand anywhere.


def test_no_placeholder_becomes_part_of_a_word():
    """A random model says its words without blanks between them."""
    tokenizer = ProtectedTokenizer(Tokenizer("characters"), ("placeholders",))
    search = SearchOptions(num_beams=4, max_length=12, must_copy=True)
    translator = translators.random_translator(
        options=search, source_tokenizer=tokenizer, target_tokenizer=tokenizer
    )
    texts = ["%s, %d .", "", "n%sx {x}"]
    with translators.eagerly():
        found = translator.analyse(tf.constant(texts))
    found = {name: found[name].numpy() for name in ("texts", "tokens")}

    def beside(text):
        return {*find_touched(text, ["placeholders"])}

    glued = []
    for source, *answers in zip(texts, found["texts"], found["tokens"]):
        for answer, tokens in zip(*answers):
            assert beside(answer.decode()) <= beside(source)
            glued.append(beside(b"".join(tokens).decode()) - beside(source))
    assert any(glued)


@pytest.mark.long
def test_given_translations_are_said(saying):
    answers = saying.translate(tf.constant(TEXTS))["text"].numpy()
    expected = [
        "the ``a b`` of ``a b`` ``est`` ``c``",
        "la séance",
        "",
        TEXTS[3],
        "``is`` the sessions ``est`` .",
    ]
    # A literal <unk> is never copied.
    expected[3] = expected[3].replace("<unk>", "").strip()
    found = [x.decode() for x in answers]
    assert found[:3] + found[4:] == expected[:3] + expected[4:]
    alone = saying.translate(tf.constant(TEXTS[:1]))["text"]
    assert alone.numpy()[0].decode() == expected[0]


@pytest.mark.long
def test_a_request_brings_its_own_terms_which_come_first(saying):
    translator = saying
    lines = [
        ["``a b``\tno", "the\tEL", ""],
        ["the session\tla sesión", "session\tx", "no tab"],
        *[["", "a\tb", "\t"]] * 3,
    ]
    ask = translator.translate_with_glossary
    found = ask(tf.constant(TEXTS), tf.constant(lines))["text"].numpy()
    plain = translator.translate(tf.constant(TEXTS))["text"].numpy()
    assert found[0].decode() == "EL ``a b`` of ``a b`` ``est`` ``c``"
    assert found[1].decode() == "la sesión"
    assert found[2:].tolist() == plain[2:].tolist()
    nothing = ask(tf.constant([], tf.string), tf.zeros([0, 2], tf.string))
    assert nothing["text"].shape == (0,)
    none = ask(tf.constant(TEXTS), tf.zeros([len(TEXTS), 0], tf.string))
    assert none["text"].numpy().tolist() == plain.tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="one row"):
        ask(tf.constant(TEXTS), tf.constant(lines[:2]))


@pytest.mark.long
def test_words_are_shown_as_typed_and_as_translated(saying):
    outputs = saying.analyse(tf.constant(["the session is <b>"]))
    words = outputs["tokens"].numpy()[0, 0].tolist()
    assert words == ["la séance".encode(), b"``est``", b"<b>"]
    source = outputs["source_tokens"].numpy()[0].tolist()
    assert source == [b"the session", b"is", b"<b>", b"</s>"]
    np.testing.assert_array_equal(outputs["copied_from"][0, 0], [0, 1, 2])


def test_a_random_model_says_its_terms_too():
    translator = must_copy(glossary=GLOSSARY)
    with translators.eagerly():
        found = translator.translate(tf.constant(TEXTS))["text"].numpy()
    assert "la séance" in found[1].decode()
    assert "``est``" in found[4].decode() and "``is``" in found[4].decode()


def test_settings(tmp_path):
    arguments = translators.copier().arguments
    path = tmp_path / "terms.tsv"
    path.write_text("a\tb\n")
    content = {"kind": "Translator", "arguments": {}, "model": {"config": {}}}
    values = settings.parse(content, {"glossary": str(path)})
    with pytest.raises(settings.SettingError, match="glossary: .*--protect"):
        settings.change_arguments(arguments, values)
    changed = settings.change_arguments(arguments | TOKENIZERS, values)
    assert changed["glossary"].terms == (("a", "b"),)
    values = settings.parse(content, {"must_copy": "true"})
    with pytest.raises(settings.SettingError, match="must_copy: .*--protect"):
        settings.change_arguments(arguments, values)
    changed = settings.change_arguments(arguments | TOKENIZERS, values)
    assert changed["options"].must_copy
    path.write_text("a b\n")
    with pytest.raises(settings.SettingError, match="line 1"):
        settings.parse(content, {"glossary": str(path)})
    with pytest.raises(ValueError, match="ProtectedTokenizer"):
        translators.copier(glossary=GLOSSARY)


@pytest.mark.long
def test_the_commands_send_a_glossary(saying, tmp_path, monkeypatch, told):
    path = tmp_path / "terms.tsv"
    path.write_text("# terms\nof\tDE\n\nthe session\tla sesión\n")
    folder = str(tmp_path / "served")
    saved_model.export(saying, folder)
    model = LocalModel(folder)
    monkeypatch.setattr(local_model, "LocalModel", lambda *_, **__: model)

    def asked(*arguments):
        lines = "\n".join(TEXTS[:3] + [""]).encode()
        return told(ask.main, [folder, *arguments], lines)

    status, answers, _ = asked("--glossary", str(path))
    assert status == 0
    assert answers[0] == "the ``a b`` DE ``a b`` ``est`` ``c``"
    assert answers[1:] == ["la sesión", ""]
    assert asked()[1][1] == "la séance"
    assert "not with --json" in asked("--glossary", str(path), "--json")[2]
    path.write_text("of\n")
    error = asked("--glossary", str(path))[2]
    assert "line 1: expected phrase<TAB>translation" in error


def test_other_models_read_no_glossary(copier_model, tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("a\tb\n")
    options = answer_lines.AnswerOptions(glossary=str(path))
    with pytest.raises(ModelError, match="without --protect"):
        answer_lines.answer(copier_model, options)
