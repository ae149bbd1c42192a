"""Generated news and their headlines, also with scores as in LCSTS.

They are for users without a copy of LCSTS, with whose results theirs cannot be
compared. A text reports one event in a key sentence and adds details. One or
two other sentences are about other names of the same kind. About 70 % of the
summary's words are in the key sentence. Names are made of syllables and mostly
out-of-vocabulary.

Each name is one word and belongs to one split only, given by a checksum of its
letters: whatever the seed, no name of validation or test is in training.
"""

import bisect
import functools
import itertools
import random
import re
from collections.abc import Iterable, Iterator

from tfcopy.data.corpora import corpus, lcsts
from tfcopy.data.generated import generated_corpus, text_tables
from tfcopy.data.generated.demo_names import split_of
from tfcopy.data.text.vocabulary import count_words

TABLES = ("newsgen_words", "newsgen_patterns")
MAX_LENGTH = 600  # characters of a text

EVENTS = text_tables.groups("newsgen_patterns")
# Fillers of slots: words by type, forms of names by "person forms" and so on.
WORDS = text_tables.read_as(text_tables.phrases, "newsgen_words") | {
    "year": tuple(map(str, range(2027, 2035))),
    "number": tuple(map(str, range(11, 100))),
    "percent": tuple(map(str, range(2, 36))),
    "share": tuple(map(str, range(51, 75))),
    "sum": tuple(f"{millions} million" for millions in range(2, 61)),
}
# Onsets, vowels and codas.
SYLLABLE = tuple(
    text_tables.words(text_tables.read("newsgen_words")[section])
    for section in ("onsets", "vowels", "codas")
)


class Story:
    """One event: the values of its slots, and the text about it.

    Args:
        rng: A `random.Random`.
        split: The split to which the names belong.
    """

    def __init__(self, rng: random.Random, split: str):
        self.rng = rng
        self.split = split
        self.names = set()  # no two things share one

    def tell(self) -> tuple[str, str]:
        """Draws a text of three to five sentences, and its summary."""
        while True:
            text, summary = self._draw()
            if len(text) <= MAX_LENGTH:
                return text, summary

    def _draw(self):
        rng, values = self.rng, {}
        event = rng.choice(list(EVENTS))
        lead, *summaries = rng.choice(leads(event))
        sentences = [lead]
        num_distractors = rng.choice((1, 2))
        num_supports = rng.randint(1, 4 - num_distractors)
        sentences += rng.sample(EVENTS[event]["supports"], num_supports)
        sentences = [self.fill(sentence, values) for sentence in sentences]
        summary = self.fill(rng.choice(summaries), values)
        for line in rng.sample(EVENTS[event]["distractors"], num_distractors):
            place = rng.randint(0, len(sentences))
            sentences.insert(place, self.fill(line, {}))
        return " ".join(sentences), summary

    def fill(self, line: str, values: dict[str, str]) -> str:
        """Fills the slots of a line; `values` gains those that it lacks."""

        def text_of(slot):
            while slot.name not in values:
                value = self._value(slot.type)
                others = (values.get(f"{slot.type}{x}") for x in ("", 2, 3))
                if value not in others:
                    values[slot.name] = value
            value = values[slot.name]
            if slot.form:
                return value.split(" ")[-1 if slot.form == "last" else 0]
            return value

        return text_tables.fill(line, text_of)

    def _value(self, type):
        if type in WORDS:
            return self.rng.choice(WORDS[type])
        form = self.rng.choice(WORDS[f"{type} forms"])
        return re.sub(r"\*", lambda _: self._name(), form)

    def _name(self):
        spellings, weights = _syllables()
        while True:
            drawn = [
                bisect.bisect(weights, self.rng.random() * weights[-1])
                for _ in range(self.rng.choice((2, 2, 3)))
            ]
            name = "".join(spellings[i] for i in drawn).capitalize()
            if split_of(name) == self.split and name not in self.names:
                self.names.add(name)
                break
        return name


@functools.cache
def leads(event: str) -> list[list[str]]:
    """Returns the key sentences of an event, each with its summaries."""
    return text_tables.group_replies(EVENTS[event]["leads"])


@functools.cache
def _syllables():
    """Returns all 6,000 syllables, and their cumulative weights."""
    spellings, weights = [], []
    for ranked in itertools.product(*map(enumerate, SYLLABLE)):
        spellings.append("".join(part for _, part in ranked))
        (onset, _), (vowel, _), (coda, _) = ranked
        weights.append(1 / ((onset + 8) * (vowel + 2) * (coda + 1)))
    return spellings, list(itertools.accumulate(weights))


_LEAST_SCORE = 3  # a lower score has the headline of another story


def load_scored(
    *,
    num_train: int = 50_000,
    num_validation: int = 2_000,
    num_test: int = 1_106,
    min_score: int = _LEAST_SCORE,
    seed: int = 0,
) -> corpus.TranslationCorpus:
    """Makes news in place of LCSTS, generated whenever they are read.

    The scores of validation and test are distributed as in LCSTS, and a record
    of score 1 or 2 carries the summary of another one.

    Args:
        num_train: Number of training pairs.
        num_validation: Number of validation pairs of all scores.
        num_test: Number of test pairs of all scores; by default as many as in
            LCSTS, of which 725 have a score of 3 or more.
        min_score: Least score of the pairs for validation and testing.
        seed: Seed of the news; they are the same on every machine.

    Raises:
        CorpusError: If no pair of a split has such a score.
    """
    splits, arguments = {}, (seed, min_score)
    for name, number in zip(
        corpus.SPLITS, (num_train, num_validation, num_test)
    ):
        count = number
        if name != "train":
            scores = _scores(lcsts.SCORE_COUNTS[name], number)
            count = sum(score >= min_score for score in scores)
        if not count:
            raise corpus.CorpusError(
                f"generated news, {name}: no sentence pair there. Generate "
                "more of them, or lower the least score."
            )
        splits[name] = corpus.Split(
            functools.partial(_pairs, name, number, *arguments),
            corpus.fingerprint(_grammar(), name, number, *arguments),
            count,
        )
    return corpus.TranslationCorpus(
        name="newsgen",
        source_language="en",
        target_language="en",
        splits=splits,
        generated=True,
    )


def _grammar():
    """Changes with the grammar, so that ids of stale news are never read."""
    sample = list(generate("test", 50))
    return generated_corpus.grammar_fingerprint(TABLES, sample)


def _pairs(split, number, seed, least_score) -> Iterator:
    """Yields the pairs of texts and summaries with the required scores."""
    for score, *pair in generate(split, number, seed):
        if score is None or score >= least_score:
            yield tuple(pair)


def generate(
    split: str, number: int, seed: int = 0
) -> Iterator[tuple[int | None, str, str]]:
    """Yields score, text and summary of records without storing them.

    Args:
        split: `"train"`, whose score is `None`, `"validation"` or `"test"`.
        number: Number of examples.
        seed: As in `load_scored`.
    """
    rng = random.Random(f"newsgen/{seed}/{split}")
    stories = (Story(rng, split).tell() for _ in range(number))
    if split == "train":
        for text, summary in stories:
            yield None, text, summary
        return
    stories = list(stories)
    scores = _scores(lcsts.SCORE_COUNTS[split], number)
    rng.shuffle(scores)
    for i, (score, (text, summary)) in enumerate(zip(scores, stories)):
        if score <= 2:
            summary = stories[(i + 1) % number][1]
        yield score, text, summary


def oov_rate(texts: Iterable[str], vocabulary, tokenizer) -> float:
    """Returns the share of words outside the vocabulary, in percent.

    Args:
        texts: At least one text that is not blank.
        vocabulary: A `Vocabulary`, or any container of words.
        tokenizer: `Tokenizer` that cuts texts into words.
    """
    pairs = ((text,) for text in texts)
    (counts,) = count_words(pairs, [tokenizer], progress=False)
    unknown = sum(n for word, n in counts.items() if word not in vocabulary)
    return 100 * unknown / counts.total()


def _scores(counts, number) -> list[int]:
    """Scores 1 to 5, in the proportions of `counts`."""
    quotas = [number * count / sum(counts) for count in counts]
    shares = [int(quota) for quota in quotas]
    rest = sorted(range(5), key=lambda i: shares[i] - quotas[i])
    for i in rest[: number - sum(shares)]:
        shares[i] += 1
    return [i for i, share in enumerate(shares, 1) for _ in range(share)]


def load(
    *,
    num_train: int = 12_000,
    num_validation: int = 300,
    num_test: int = 500,
    seed: int = 0,
) -> corpus.TranslationCorpus:
    """Makes the demo corpus of headlines, generated whenever it is read.

    A text has three to five sentences, its headline about twelve words, most of
    them from one of the sentences.

    Args:
        num_train: Number of training pairs.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        seed: Seed of the pairs; they are the same on every machine.
    """
    numbers = num_train, num_validation, num_test
    return corpus.TranslationCorpus(
        name="demo headlines",
        source_language="en",
        target_language="en",
        splits=corpus.generate_splits(
            generate_headlines, numbers, [seed], _grammar()
        ),
        generated=True,
    )


def generate_headlines(
    split: str, number: int, seed: int = 0
) -> Iterator[tuple[str, str]]:
    """Returns texts and headlines, one pair after the other.

    Args:
        split: `"train"`, `"validation"` or `"test"`.
        number: Number of examples.
        seed: Seed of the pairs; they are the same on every machine.
    """
    # Enough for the pairs kept: less than half of all have a low score.
    size = number if split == "train" else 2 * number + 5
    return itertools.islice(_pairs(split, size, seed, _LEAST_SCORE), number)
