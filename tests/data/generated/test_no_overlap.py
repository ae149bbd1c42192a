"""No demo is tested on what it was trained on."""

import pytest

from tfcopy.data.corpora.corpus import SPLITS
from tfcopy.data.generated import (
    demo_catalogs,
    demo_definitions,
    demo_news,
    demo_parliament,
    dialogue,
    newsgen,
)
from tfcopy.data.generated.demo_definitions import text_of
from tfcopy.data.generated.rarest_word_task import RarestWord
from tfcopy.recipes import copy_rules_copynet, eulerian_pag, lcsts_copynet
from tfcopy.recipes.rarest_word_ps import Config as RarestWordConfig


def text_splits(corpus):
    """The splits as a set of texts each."""
    return [set(map(text_of, corpus.splits[name])) for name in SPLITS]


def pair_splits(corpus):
    """The splits as a set of pairs each."""
    return [set(corpus.splits[name]) for name in SPLITS]


def rules(folder):
    config = copy_rules_copynet.Config(seed=0)
    return pair_splits(copy_rules_copynet.load_rules(config).corpus)


def graphs(folder):
    config = eulerian_pag.Config(num_train=5_000)
    return pair_splits(eulerian_pag.load_corpus(config))


def news_files(folder):
    config = lcsts_copynet.Config(num_train=5_000)
    return pair_splits(lcsts_copynet.load_corpus(config, "words"))


def sequences(folder):
    """Of the words of the rarest-word task, with the demo's sizes."""
    config = RarestWordConfig()
    task = RarestWord(config.num_words, config.num_pointed, config.length)
    return [
        set(map(tuple, task.draw(number, stream, 0).tolist()))
        for stream, number in zip(SPLITS, (50_000, 5_000, 20_000))
    ]


DEMOS = {
    "parliament": lambda folder: pair_splits(
        demo_parliament.load(num_train=5_000)
    ),
    "catalogues": lambda folder: pair_splits(
        demo_catalogs.load(num_train=2_000)
    ),
    "news": lambda folder: pair_splits(demo_news.load(num_train=500)),
    "headlines": lambda folder: pair_splits(newsgen.load()),
    "news in LCSTS's format": news_files,
    "rules": rules,
    "dialogues I": lambda _: pair_splits(dialogue.load("DS-I").corpus),
    "dialogues II": lambda _: pair_splits(dialogue.load("DS-II").corpus),
    "graphs": graphs,
    "questions": lambda _: text_splits(demo_definitions.questions()),
    "entailments": lambda _: text_splits(demo_definitions.entailments()),
    "sentences": lambda _: text_splits(demo_definitions.sentences()),
    "rarest words": sequences,
}


@pytest.mark.long
@pytest.mark.parametrize("name", DEMOS)
def test_no_example_stands_in_two_splits(tmp_path, name):
    train, validation, test = DEMOS[name](tmp_path)
    assert train and validation and test
    assert not train & validation
    assert not train & test
    assert not validation & test
