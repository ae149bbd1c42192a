import collections
import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.generated import demo_news, text_tables
from tfcopy.data.generated.demo_names import split_of
from tfcopy.data.generated.demo_news import KINDS, Event, NewsGrammar
from tfcopy.data.text import tokenization
from tfcopy.evaluation import summaries as summary_evaluation

SIZES = {"train": 12_000, "validation": 300, "test": 500}
VOCABULARY_SIZE = 1500


@pytest.fixture(scope="module")
def stories():
    return {
        split: list(demo_news.generate(split, size))
        for split, size in SIZES.items()
    }


@pytest.fixture(scope="module")
def counts(stories):
    """How often each word stands in the training stories."""
    return collections.Counter(
        word
        for story in stories["train"]
        for text in story
        for word in words(text)
    )


def words(text):
    return re.findall(r"[^\s.,\"]+|[.,\"]", text)


# === The corpus ===


def test_load_gives_splits_that_are_read_again_and_again(tmp_path):
    sizes = {"num_train": 30, "num_validation": 3, "num_test": 4}
    corpus = demo_news.load(tmp_path, **sizes)
    for _ in range(2):
        assert list(corpus.train) == list(demo_news.generate("train", 30))
    assert list(corpus.test) == list(demo_news.generate("test", 4))
    assert corpus.validation.num_pairs == 3
    assert corpus.generated and not corpus.tokenized
    assert (corpus.source_language, corpus.target_language) == ("en", "en")
    other = demo_news.load(tmp_path, **sizes, seed=1)
    assert demo_news.load(tmp_path, **sizes).fingerprint == corpus.fingerprint
    assert other.fingerprint != corpus.fingerprint
    assert list(other.train) != list(corpus.train)


def test_load_is_quiet(tmp_path, capfd):
    demo_news.load(tmp_path, num_train=3, num_validation=1, num_test=1)
    assert capfd.readouterr().out == ""


def test_bad_sizes_and_folders_give_clear_messages(tmp_path):
    with pytest.raises(CorpusError, match="must be 1 or more"):
        demo_news.load(tmp_path, num_test=0)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(CorpusError, match="file.*--data_dir"):
        demo_news.load(file, num_train=1, num_validation=1, num_test=1)


def test_stories_are_the_same_on_every_machine():
    """A new digest is due whenever the grammar changes, and only then."""
    text = repr(list(demo_news.generate("test", 300)))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "ec61e025eab1f460"


# === What stands in it ===


@pytest.mark.long
def test_names_of_the_test_set_are_never_seen_in_training(stories, counts):
    for split in ("validation", "test"):
        for _, summary in stories[split]:
            for sentence in summary_evaluation.sentences(summary):
                names = [w for w in words(sentence) if split_of(w) == split]
                assert sum(counts[name] == 0 for name in names) >= 2, sentence


@pytest.mark.long
def test_names_are_nearly_all_out_of_the_vocabulary(stories, counts):
    vocabulary = {word for word, _ in counts.most_common(VOCABULARY_SIZE)}
    for split in ("train", "test"):
        targets = [w for _, text in stories[split] for w in words(text)]
        unknown = sum(word not in vocabulary for word in targets)
        assert 0.25 < unknown / len(targets) < 0.4
    articles = [w for text, _ in stories["test"] for w in words(text)]
    # The names of the training stories are no words of the test stories.
    frequent = {word for word, count in counts.items() if count > 30}
    ordinary = [word for word in set(articles) if counts[word]]
    assert len(frequent) < 800
    assert sum(w in frequent for w in ordinary) > 0.97 * len(ordinary)


@pytest.mark.long
def test_articles_hold_every_name_of_their_summary(stories, counts):
    for split in ("train", "test"):
        for article, summary in stories[split]:
            rare = {w for w in words(summary) if counts[w] <= 30}
            assert rare <= set(words(article)), (article, summary)


@pytest.mark.long
def test_lengths(stories):
    for side, low, mean, high in (
        (0, 45, (60, 85), 110),
        (1, 14, (18, 28), 45),
    ):
        lengths = [len(words(story[side])) for story in stories["train"]]
        assert low <= min(lengths) and max(lengths) <= high
        assert mean[0] < sum(lengths) / len(lengths) < mean[1]


@pytest.mark.long
def test_stories_vary(stories):
    assert len(set(stories["train"])) == len(stories["train"])
    starts = collections.Counter(
        article.split(". ")[0] for article, _ in stories["train"]
    )
    assert len(starts) > 200


@pytest.mark.long
def test_summaries_repeat_no_trigram(stories):
    summaries = [words(summary) for _, summary in stories["test"]]
    assert summary_evaluation.repeated_ngram_rate(summaries, n=3) == 0


@pytest.mark.long
def test_summaries_use_words_of_their_own(stories):
    articles, summaries = (
        [words(text) for text in texts] for texts in zip(*stories["test"])
    )
    rate = summary_evaluation.novel_ngram_rate(summaries, articles, n=2)
    assert 50 < rate < 90


@pytest.mark.long
def test_order_of_the_summary_tells_nothing(stories, counts):
    """The event told first is equally often any of those of the story."""
    ranks = collections.Counter()
    for article, summary in stories["train"][:4000]:
        sentences = summary_evaluation.sentences(summary)
        if len(sentences) == 4:
            places = [
                min(
                    words(article).index(w) for w in words(s) if counts[w] <= 30
                )
                for s in sentences
            ]
            ranks[sorted(places).index(places[0])] += 1
    total = sum(ranks.values())
    assert total > 1500
    for rank in range(4):
        assert 0.21 < ranks[rank] / total < 0.29


@pytest.mark.long
def test_names_have_many_shapes(stories):
    text = " ".join(summary for _, summary in stories["test"])
    for pattern in ("[À-ž]", r"\w'\w", r"\w-\w", "[α-ω]", "[а-я]", "[一-龥]"):
        assert re.search(pattern, text), pattern
    text = " ".join(summary for _, summary in stories["train"])
    assert 10 < len(re.findall("[\U0001f300-\U0001f9ff]", text)) < 500


# === Good English ===


@given(st.integers(), st.sampled_from(sorted(SIZES)))
@settings(max_examples=200)
def test_stories_are_well_formed(seed, split):
    for text in NewsGrammar(seed, split).story():
        assert not set(text) & set("{}[]|*<>_"), text
        assert text == " ".join(text.split()), text
        assert ".." not in text and " ." not in text and " ," not in text
        assert text.count('"') % 2 == 0 and text.endswith(".")
        assert not re.search(r"\b[Aa] [aeiou]", text), text
        assert not re.search(r"\b[Aa]n [^aeiou]", text), text


@given(st.integers(), st.sampled_from(sorted(SIZES)))
@settings(max_examples=50)
def test_every_name_belongs_to_one_split(seed, split):
    grammar = NewsGrammar(seed, split)
    table = text_tables.read("demo_news_words")
    forms = [x for name in table if "forms" in name for x in table[name]]
    ordinary = set(re.findall(r"\w+", " ".join(forms)))
    assert len(forms) > 4 and {"Bank", "FC", "Trio"} < ordinary
    for draw in (
        grammar._person,
        grammar._place,
        grammar._company,
        grammar._club,
        grammar._act,
    ):
        names = [word for word in draw().split(" ") if word not in ordinary]
        assert {split_of(word) for word in names} == {split}


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_patterns_hold_the_names_they_should(kind):
    for line in kind["reports"] + kind["summaries"]:
        assert line.count("{a}") == line.count("{b}") == 1, line
    for line in kind["summaries"]:
        first, second = re.findall(r"\{[ab]\}", line)
        before, between, after = re.split(f"{first}|{second}", line)
        assert not before and len(between.split()) <= 2, line
        assert len(after.replace(".", " .").split()) <= 2, line
    for line in kind["openings"] + kind["details"]:
        assert "{a" not in line and "{b}" not in line, line
    for line in kind["echoes"]:
        assert len(re.findall(r"\{(?:a|a\.last|b)\}", line)) == 1, line
    has_pronoun = re.search(r"\{([Hh](e|is|im)|a\.last)\}", repr(kind))
    assert not has_pronoun or kind["names"][0].startswith("person ")
    assert len(kind["summaries"]) == 7


@pytest.mark.long
def test_every_sentence_ends_with_a_token_of_its_own(stories):
    for side in (0, 1):
        texts = [story[side] for story in stories["test"]]
        for text, tokens in zip(texts, tokenization.tokenize(texts).numpy()):
            ends = [token for token in tokens if token.endswith(b".")]
            assert set(ends) == {b"."}, text
            assert len(ends) == text.count("."), text


def test_slots_are_filled():
    grammar = NewsGrammar(0, "train")
    pronouns = {"he": "she", "his": "her", "him": "her"}
    event = Event("Ann Ott", "Rome", pronouns)
    line = "{Count} met {a} in {b}. {He} saw {his} {count}; {a.last} {him}."
    expected = "Four met Ann Ott in Rome. She saw her four; Ott her."
    assert grammar._fill(line, event, 4) == expected


@pytest.mark.long
def test_examples_hold_their_names_on_both_sides(counts):
    examples = demo_news.examples()
    text = " ".join(article for article, _ in examples)
    for name in ("Łukasz", "北京", "O'Brien-Şahin", "🦄"):
        assert name in text
    for article, summary in examples:
        unseen = {word for word in words(summary) if not counts[word]}
        assert len(unseen) >= 6 and unseen <= set(words(article))
