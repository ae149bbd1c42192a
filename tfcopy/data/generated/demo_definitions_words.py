"""Invented words, pronounceable and unlike any plain word of the demos."""

import random
import re

from tfcopy.data.generated.demo_definitions_lexicon import plain_words

# No word begins with a vowel: its article is `a`.
_ONSETS = (
    "b bl br d dr f fl fr g gl gr h j k kl kr l m n p pl pr r sk sl sm sn sp "
    "t tr v w y z zw"
)
_VOWELS = "a e i o u"
_MIDDLES = (
    "b d g k l m n p r t v z bl br dr gl gr kl kr lb ld lg lk lv mb mbl mp mz "
    "nd nk nt nz pl pt rb rd rg rk rl rv rz zd zl zm"
)
_ENDS = "b g k m p x z ck lk lm lp mp nk rb rk rm rp rt"
# Two syllables: English has many words of one.
_PARTS = (_ONSETS, _VOWELS, _MIDDLES, _VOWELS, _ENDS)
# Endings that the rules for lemmas would cut off.
_SUFFIX = re.compile(r"(?:s|ed|ing|er|est|men)$")


def invent(number: int, rng: random.Random) -> list[str]:
    """Draws distinct words.

    No word looks like an inflected form, and none begins a plain word, so that
    look-up never mistakes one for another's lemma.

    Args:
        number: How many.
        rng: The random number generator.
    """
    begun = {word[:i].lower() for word in plain_words() for i in range(20)}
    words = {}
    while len(words) < number:
        word = "".join(rng.choice(part.split()) for part in _PARTS)
        if word not in begun and not _SUFFIX.search(word):
            words[word] = None
    return list(words)
