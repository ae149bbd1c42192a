"""The dictionary is needed and suffices; nothing else helps."""

import collections
import random

import pytest

from tests.data.generated.definition_reading import asked_of, explained, parse
from tfcopy.data.corpora.corpus import SPLITS
from tfcopy.data.corpora.nli import LABELS
from tfcopy.data.generated import demo_definitions as demo
from tfcopy.data.generated import demo_definitions_lexicon as lexicon

PLAIN = frozenset(lexicon.plain_words())
MARGIN = 0.04  # over chance, for classifiers that count


def definitions_of(**options):
    found = demo.dictionary(**options)
    return {
        word: [" ".join(tokens) for tokens in senses]
        for word, senses in zip(found.headwords, found.definitions)
    }


@pytest.fixture(scope="module")
def dictionary():
    return definitions_of()


def masked(text):
    """Returns a text as a model reads it that knows no invented word."""
    return " ".join(x if x in PLAIN else "UNK" for x in text.split())


def is_plain(text):
    return masked(text) == text


def accuracy(rows):
    """Of the most frequent label of each key, counted on the first two thirds.

    Args:
        rows: `(key, label)` pairs; the last third is scored.
    """
    rows = list(rows)
    count = 2 * len(rows) // 3
    counts = collections.defaultdict(collections.Counter)
    for key, label in rows[:count]:
        counts[key][label] += 1
        counts[None][label] += 1  # for new keys
    right = [
        counts[key if key in counts else None].most_common(1)[0][0] == label
        for key, label in rows[count:]
    ]
    return sum(right) / len(right)


# === Questions ===


def check_question(example, dictionary):
    """The dictionary leads to one answer, by brute force."""
    statements = parse(lexicon.STATEMENTS, example.context)
    assert len(statements) == 3
    facet, value = asked_of(example.question)
    told = [explained(x["thing"], dictionary) for x in statements]
    (i,) = [i for i, found in enumerate(told) if found.get(facet) == value]
    if example.question.startswith("Who "):
        expected = statements[i]["who"]
    else:
        expected = statements[i]["where"].split(" ", 1)[1]
    ((text, start),) = example.answers
    assert text == expected
    assert example.context[start : start + len(text)] == text
    assert f" {example.context} ".count(f" {text} ") == 1
    return i


@pytest.mark.long
def test_the_dictionary_answers_each_question(dictionary):
    corpus = demo.questions(num_train=2_000)
    for name in SPLITS:
        for example in corpus.splits[name]:
            check_question(example, dictionary)


# === Pairs of sentences ===


@pytest.fixture(scope="module")
def pairs():
    """Training pairs with an invented word."""
    train = demo.entailments(num_train=24_000).train
    return [pair for pair in train if not is_plain(pair.premise)]


@pytest.mark.long
def test_the_dictionary_decides_each_pair(dictionary):
    corpus = demo.entailments(num_train=2_000)
    for name in SPLITS:
        for example in corpus.splits[name]:
            (slots,) = parse(lexicon.PREMISES, example.premise)
            told = explained(slots["thing"], dictionary)
            facet, value = asked_of(example.hypothesis)
            label = "neutral"
            if facet in told:
                holds = told[facet] == value
                label = "entailment" if holds else "contradiction"
            assert LABELS[example.label] == label, example
            words = example.hypothesis.split()
            assert words[0] == "Somebody" or words[1] == slots["subject"]
            assert f" {slots['verb']} " in example.hypothesis
            assert is_plain(example.hypothesis)


@pytest.mark.long
def test_neither_side_alone_tells_the_label(pairs):
    for name, key in {
        "hypothesis": lambda x: x.hypothesis,
        "what it says": lambda x: asked_of(x.hypothesis),
        "premise": lambda x: x.premise,
        "invented word": lambda x: min(set(x.premise.split()) - PLAIN),
        "plain words of the premise": lambda x: masked(x.premise),
        "both without the word": lambda x: (
            masked(x.premise),
            asked_of(x.hypothesis),
        ),
    }.items():
        assert accuracy((key(x), x.label) for x in pairs) < 1 / 3 + MARGIN, name


# === Sentences ===


def verbs_after_things(sentences):
    """`(words before, thing, verb)` of each thing in each sentence."""
    verbs = {
        action.split()[0]: name
        for name, kind in lexicon.KINDS.items()
        for action in kind.actions
    }
    nouns = {x for k in lexicon.KINDS.values() for x in k.nouns}
    for sentence in sentences:
        words = sentence.split()
        for i, word in enumerate(words):
            if word in nouns or word not in PLAIN:
                assert words[i + 1] in verbs, sentence
                yield words[:i], word, words[i + 1], verbs[words[i + 1]]


@pytest.mark.long
def test_what_follows_a_thing_fits_its_definition(dictionary):
    corpus = demo.sentences(num_train=2_000)
    for name in SPLITS:
        rows = list(verbs_after_things(corpus.splits[name]))
        assert len(rows) >= corpus.splits[name].num_pairs
        for _, word, _, kind in rows:
            assert explained(word, dictionary)["kind"] == kind


# === All of them ===


def test_the_state_of_random_is_left_alone():
    random.seed(3)
    state = random.getstate()
    list(demo.questions(num_train=5).train)
    assert random.getstate() == state
