"""Corpora and dictionaries of recipes that read definitions."""

import collections
import types

import numpy as np
import pytest

from tfcopy.data.definitions import DefinitionLookup, Definitions, TextBatches
from tfcopy.data.generated import demo_definitions
from tfcopy.data.generated.demo_definitions_lexicon import plain_words
from tfcopy.experiments.definitions import (
    answering_systems,
    definition_data,
    entailment_systems,
    next_word_systems,
    text_systems,
)
from tfcopy.recipes import lm1b_definitions, snli_definitions, squad_definitions

NUMBERS = {"num_train": 20, "num_validation": 4, "num_test": 8}


def test_words_of_definitions_count_as_often_as_what_they_define():
    data = types.SimpleNamespace(
        counts={"cats": 3, "dog": 1, "ghost": 7},
        definitions=Definitions(
            ("cat", "dog", "bird"),
            ((("small", "pet"),), (("large", "pet"),), (("wings",),)),
        ),
    )
    data.lookup = DefinitionLookup(data.definitions)
    words = definition_data.definition_vocabulary(data, 7).words
    assert words[4:] == ("pet", "small", "large")


@pytest.mark.long
@pytest.mark.parametrize(
    ("recipe", "corpus", "read"),
    [
        (
            lm1b_definitions,
            demo_definitions.sentences(**NUMBERS),
            lambda split, cut, _: next_word_systems.read(split, cut, 20),
        ),
        (
            snli_definitions,
            demo_definitions.entailments(**NUMBERS),
            lambda split, cut, _: entailment_systems.read(split, cut, 20),
        ),
        (
            squad_definitions,
            demo_definitions.questions(**NUMBERS),
            lambda split, cut, _: answering_systems.read(split, cut),
        ),
    ],
    ids=["lm", "nli", "qa"],
)
def test_each_system_reads_what_it_says(tmp_path, recipe, corpus, read):
    """All systems of a recipe, without training."""
    config = recipe.Config(
        embedding_dim=8,
        vectors_dim=8,
        batch_size=4,
        log_dir=str(tmp_path),
        systems=list(recipe.SYSTEMS),
    )
    data = definition_data.prepare(config, corpus, read, recipe.SYSTEMS)
    # Invented words, too: a baseline may know each word of training.
    assert data.counts == collections.Counter(
        token
        for i in range(len(data.train))
        for name in data.train.texts
        for token in data.train.tokens(name, i)
    )
    assert any(x not in plain_words() for x in data.counts)
    for name, sources in recipe.SYSTEMS.items():
        features = text_systems.make_features(config, sources, data, end=True)
        embedding = text_systems.word_embedding(config, sources, data, features)
        batches = TextBatches(features, data.words)
        batch = next(iter(batches.evaluation(data.test, 4)))
        assert ("definition_ids" in batch) == (sources.reads is not None), name
        assert ("spelling_ids" in batch) == sources.spelling, name
        assert embedding.word_table.trainable != sources.fixed, name
        if sources.reads == "vector":
            # Each unknown word has one definition: itself.
            assert (np.asarray(batch["definition_weights"]) == 1).all()


def test_missing_vectors_are_named_before_any_system_is_trained(tmp_path):
    config = squad_definitions.Config(vectors=str(tmp_path / "nowhere"))
    with pytest.raises(OSError, match="--vectors: cannot read .*nowhere"):
        definition_data.find_vectors(config)
