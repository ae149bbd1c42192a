"""The dictionary that bounds what is generated."""

import numpy as np

from tfcopy import tokens
from tfcopy.data.alignment import likely_translations
from tfcopy.data.pairs.encoding import encode
from tfcopy.data.text.vocabulary import Vocabulary


def vocabulary(words):
    return Vocabulary.build(dict.fromkeys(words.split(), 1))


SOURCE = vocabulary("a the red blue house dog")
TARGET = vocabulary("un le rouge bleu maison chien")
ENGLISH = ["a red house", "the blue dog", "a blue house", "the red dog"]
FRENCH = ["un maison rouge", "le chien bleu", "un maison bleu"]
FRENCH += ["le chien rouge"]


def corpus(pairs):
    return encode(pairs, SOURCE, TARGET, progress=False)


def test_the_likeliest_come_first():
    encoded = corpus(list(zip(ENGLISH, FRENCH)) * 3)
    found = likely_translations.learn(encoded, SOURCE, TARGET, rounds=20)
    best = {word: found.senses(word)[0] for word in ("red", "blue")}
    assert best == {"red": "rouge", "blue": "bleu"}
    # "house" always stands with "a".
    assert set(found.senses("house")[:2]) == {"un", "maison"}
    few = likely_translations.learn(
        encoded, SOURCE, TARGET, rounds=20, senses=1
    )
    assert {len(few.senses(word)) for word in SOURCE.words[4:]} == {1}


def test_unknown_and_special_words_have_no_entry():
    encoded = corpus([("a Łukasz", "un Łukasz"), ("the dog", "le chien")])
    assert (encoded.target_ids >= TARGET.size).any()
    found = likely_translations.learn(encoded, SOURCE, TARGET)
    special = set(tokens.SPECIAL_TOKENS)
    assert not special & {x for entry in found for x in entry[:2]}
    assert found.senses("a") == ["un"]


def test_probabilities_are_those_of_the_model():
    encoded = corpus(list(zip(ENGLISH, FRENCH)))
    found = likely_translations.learn(encoded, SOURCE, TARGET, senses=99)
    sums = {}
    for word, _, p in found:
        sums[word] = sums.get(word, 0) + p
    # Nothing but the end of the sentence is left out.
    assert max(sums.values()) <= 1 + 1e-6
    assert np.mean(list(sums.values())) > 0.5
