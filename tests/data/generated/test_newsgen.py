import itertools
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data import Tokenizer
from tfcopy.data.corpora import lcsts
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.generated import newsgen, text_tables
from tfcopy.data.generated.demo_names import split_of
from tfcopy.data.generated.newsgen import SYLLABLE, Story
from tfcopy.data.text.vocabulary import Vocabulary, count_words

SIZES = {"train": 2000, "validation": 160, "test": 1106}
# Classes of names.
CLASSES = {
    x.removesuffix(" forms") for x in newsgen.WORDS if x.endswith(" forms")
}
WORDS = Tokenizer()


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """A corpus of each script, as the loader reads it."""
    result = {}
    for script in newsgen.SCRIPTS:
        folder = tmp_path_factory.mktemp(script)
        sizes = {f"num_{name}": size for name, size in SIZES.items()}
        newsgen.write(folder, **sizes, script=script)
        result[script] = lcsts.load(folder, language="en")
    return result


@pytest.fixture(scope="module")
def corpus(corpora):
    return corpora["latin"]


def vocabulary(corpus, tokenizer, size):
    texts, summaries = count_words(corpus.train, [tokenizer] * 2)
    return Vocabulary.build(texts + summaries, size)


def tokens(texts, tokenizer=WORDS):
    return [
        [token.decode() for token in row]
        for row in tokenizer.tokenize(list(texts)).to_list()
    ]


# === The files ===


@pytest.mark.long
def test_the_loader_reads_what_was_generated(corpora):
    for script, corpus in corpora.items():
        for split, size in SIZES.items():
            expected = [
                (text, summary)
                for score, text, summary in newsgen.generate(
                    split, size, script=script
                )
                if score is None or score >= 3
            ]
            assert list(corpus.splits[split]) == expected
        assert corpus.test.num_pairs == 725


def test_format(tmp_path):
    newsgen.write(tmp_path, num_train=1, num_validation=1, num_test=1)
    ((score, text, summary),) = newsgen.generate("test", 1)
    assert (tmp_path / "PART_III.txt").read_text() == (
        f"<doc id=0>\n    <human_label>{score}</human_label>\n"
        f"    <summary>\n        {summary}\n    </summary>\n"
        f"    <short_text>\n        {text}\n    </short_text>\n</doc>\n"
    )
    assert "human_label" not in (tmp_path / "PART_I.txt").read_text()


def test_low_scores_carry_the_summary_of_another_record():
    rng = random.Random("newsgen/0/test")
    stories = [Story(rng, "test").tell() for _ in range(400)]
    texts, summaries = zip(*stories)
    for i, record in enumerate(newsgen.generate("test", 400)):
        score, text, summary = record
        assert text == texts[i]
        assert (summary == summaries[i]) == (score >= 3)
        assert summary in summaries


def test_nothing_is_written_twice(tmp_path):
    sizes = {"num_train": 3, "num_validation": 2, "num_test": 2}
    path = tmp_path / "news" / "PART_I.txt"

    def text(**options):
        newsgen.write(path.parent, **sizes, **options)
        return path.read_text()

    first = text()
    path.write_text("kept")
    assert text() == "kept"
    assert len({text(seed=1), text(script="cjk"), first}) == 3
    assert text() == first
    (path.parent / "PART_III.txt").unlink()
    path.write_text("not kept")
    assert text() == first
    assert (path.parent / "PART_III.txt").exists()
    (path.parent / "newsgen.txt").write_text("")  # stopped halfway
    path.write_text("not kept")
    assert text() == first


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "PART_II.txt").write_text("mine")
    with pytest.raises(CorpusError, match="PART_II.txt is there"):
        newsgen.write(tmp_path, num_train=1)
    assert [path.name for path in tmp_path.iterdir()] == ["PART_II.txt"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(CorpusError, match="file.*--data_dir"):
        newsgen.write(file, num_train=1, num_validation=1, num_test=1)


# === What stands in them ===


@pytest.mark.long
def test_names_of_the_test_set_are_never_seen_in_training(corpora):
    """A name has a capital, or is made of ideographs."""
    tables = map(text_tables.read, ("newsgen_words", "newsgen_patterns"))
    lines = [x for table in tables for lines in table.values() for x in lines]
    ordinary = set(re.findall(r"\w+", " ".join(lines)))
    for corpus in corpora.values():
        words = {
            name: {w for row in tokens(itertools.chain(*split)) for w in row}
            for name, split in corpus.splits.items()
        }
        for split in ("validation", "test"):
            names = {w for w in words[split] if w.isalpha() and w != w.lower()}
            names |= {w for w in words[split] if not w.isascii()}
            names -= ordinary
            assert len(names) > 800 and not names & words["train"]


@given(st.integers(), st.sampled_from(sorted(SIZES)))
@settings(max_examples=50)
def test_every_name_belongs_to_one_split(seed, split):
    story = Story(random.Random(seed), split)
    for kind in CLASSES:
        story.fill(f"{{{kind}}} {{{kind}2}}", {})
    assert len(story.names) == 14
    assert {split_of(name) for name in story.names} == {split}


def test_oov_rate_by_hand():
    texts = ["A b b c.", "", "b"]
    assert newsgen.oov_rate(texts, {"b", "."}, WORDS) == pytest.approx(100 / 3)
    folded = Tokenizer(lowercase=True)
    assert newsgen.oov_rate(texts, {"a", "b", "."}, folded) == pytest.approx(
        100 / 6
    )


def test_a_syllable_is_an_ideograph():
    def fill(script):
        story = Story(random.Random(0), "train", script)
        return story.fill("{place} {place2} {place3}", {}).split()

    spelt = {}
    for latin, ideographs in zip(fill("latin"), fill("cjk")):
        assert 2 <= len(ideographs) <= 3 and latin.isalpha()
        parts = []
        for character in ideographs:
            rest, coda = divmod(ord(character) - 0x4E00, 20)
            onset, vowel = divmod(rest, 10)
            places = (onset, vowel, coda)
            parts += [part[i] for part, i in zip(SYLLABLE, places)]
        spelt[latin] = "".join(parts).capitalize()
    assert all(latin == spelling for latin, spelling in spelt.items())


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_headlines_are_those_of_their_texts(split):
    """A headline has a name or a figure of its own text."""
    for text, headline in newsgen.generate_headlines(split, 60):
        words = [x.strip(".,:\"'") for x in headline.split()]
        named = [w for w in words if w[0].isupper() or w[0].isdigit()]
        assert any(word in text for word in named), headline
