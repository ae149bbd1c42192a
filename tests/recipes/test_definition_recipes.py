"""The three recipes that read definitions, whole and tiny, and their parts."""

import dataclasses
import functools
import json
import os
import types

import numpy as np
import pytest

from tests.recipes import exporting, starting
from tests.recipes.starting import figures, results
from tfcopy.data.definitions import (
    DefinitionLookup,
    Definitions,
    TextBatches,
)
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.experiments.definitions import definition_data, definition_systems
from tfcopy.recipes import lm1b_definitions, snli_definitions, squad_definitions
from tfcopy.tokens import PAD, UNK

TINY = """--units 4 --embedding_dim 6 --vectors_dim 6 --updates 4 --eval_every 2
--batch_size 8 --num_train 40""".split()
RECIPES = {
    "lm": (lm1b_definitions, ["--systems=[dict2_spelling]"]),
    "nli": (snli_definitions, ["--systems=[dict]", "--depth=1"]),
    "qa": (squad_definitions, ["--systems=[SD]", "--phrases"]),
}
SCORES = {
    "lm": "perplexity after_oov after_known known_targets",
    "nli": "accuracy interval",
    "qa": "exact_match f1 independent_exact_match independent_f1 interval",
}


def start_of(name):
    recipe, systems = RECIPES[name]
    return functools.partial(starting.start, recipe, [*TINY, *systems])


@pytest.fixture(
    scope="module",
    params=[
        "nli",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("lm", "qa")),
    ],
)
def finished(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    assert start_of(request.param)(folder) == 0
    return request.param, folder


def test_results_hold_what_was_agreed(finished):
    name, folder = finished
    found = results(folder)
    agreed = "recipe preset seed seconds config systems savedmodel paper"
    assert set(agreed.split()) <= set(found)
    for scores in found["systems"].values():
        expected = f"{SCORES[name]} parameters updates seconds_training"
        assert set(expected.split()) <= set(scores)
        assert scores["updates"] == 4
    assert os.path.isfile(os.path.join(found["savedmodel"], "saved_model.pb"))
    drawn = {"nli": {"rarity.png", "categories.png"}}.get(name, set())
    assert drawn <= set(os.listdir(folder / "logs" / "demo"))


@pytest.mark.slow
def test_finished_run_goes_on_where_it_was(finished, capsys):
    name, folder = finished
    before = figures(folder)
    assert start_of(name)(folder) == 0
    assert "update " not in capsys.readouterr().err.replace("after update", "")
    assert figures(folder) == before


@pytest.mark.slow
def test_the_command_exports_the_same_model(finished):
    exporting.check_export(finished[1])


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("lm", "--corpus files", "--data must name"),
        ("lm", "--corpus files --data none.txt", "none.txt"),
        (
            "lm",
            "--dictionary none.tsv",
            "--dictionary: none.tsv: cannot be read",
        ),
        ("lm", "--restricted", "--restricted needs --systems"),
        ("nli", "--corpus files", "--train_file must be given"),
        ("nli", "--wordnet nowhere", "--wordnet: "),
        ("nli", "--systems [glove] --vectors no.txt", "--vectors: cannot"),
        ("nli", "--num_train 4", "--batch_size must be at most 4"),
        ("qa", "--corpus files", "--train_file must be given"),
        ("qa", "--systems []", "--systems must name some of"),
        ("qa", "--updates null", "--updates or --epochs must be given"),
        ("qa", "--anneal_epoch 2", "--anneal_epoch needs --schedule constant"),
    ],
)
def test_wrong_flags_are_named(tmp_path, capsys, name, arguments, message):
    arguments = arguments.split()
    assert start_of(name)(tmp_path, *arguments) == 1
    assert message in capsys.readouterr().err


def test_perplexities_are_of_the_words_they_are_named_after():
    # The scores of a class are the logarithms of its probability.
    p = np.array([[0.5, 0.25, 0.125], [0.25, 0.5, 0.5]])
    target = np.array([[4, UNK, 5], [5, 4, PAD]])
    read = np.array([[2, 4, UNK], [2, UNK, PAD]])
    logits = np.log(np.full((2, 3, 6), 1e-9))
    for place in np.ndindex(2, 3):
        logits[(*place, target[place])] = np.log(p[place])
        logits[(*place, 0)] = np.log(1 - p[place] - 4e-9)
    logits[1, 2] = 0
    batch = {
        "target_ids": target.astype("int32"),
        "text_ids": read.astype("int32"),
    }
    scores, costs = lm1b_definitions.score([(batch, logits.astype("f4"))])

    def perplexity(*values):
        return pytest.approx(np.exp(-np.mean(np.log(values))), rel=1e-4)

    assert scores == {
        "perplexity": perplexity(0.5, 0.25, 0.125, 0.25, 0.5),
        "after_oov": perplexity(0.125, 0.5),
        "after_known": perplexity(0.5, 0.25, 0.25),
        "known_targets": perplexity(0.5, 0.125, 0.25, 0.5),
    }
    assert list(map(len, costs)) == [3, 2]


def test_answers_are_cut_out_of_their_contexts():
    questions = [
        types.SimpleNamespace(
            text=lambda first, last: " ".join(
                "a bit of Text".split()[first:last]
            ),
            references=["text", "bit of"],
        )
    ] * 2
    scores = np.full((2, 5), -9.0, "float32")
    scores[0, 1] = scores[1, 3] = 5
    ends = np.full((2, 5), -9.0, "float32")
    ends[0, 3] = ends[1, 2] = 5
    ends[1, 4] = 4
    batch = {"start": np.array([1, 3]), "end": np.array([3, 4])}
    found = squad_definitions.answer(
        [(batch, {"start": scores, "end": ends})], questions, 30
    )
    assert found.texts == ["bit of", "Text"]
    assert found.independent == ["bit of", ""]
    assert found.spans == [(1, 3), (3, 4)]
    assert found.log_probs[0] == pytest.approx(0, abs=1e-4)
    assert found.log_probs[1] == pytest.approx(-np.log1p(np.e), abs=1e-4)
    assert squad_definitions.score(found, questions) == {
        "exact_match": 100.0,
        "f1": 100.0,
        "independent_exact_match": 50.0,
        "independent_f1": 50.0,
        "interval": [34.24, 100.0],
    }


def test_a_context_is_counted_once_for_all_of_its_questions():
    texts = WordTexts.from_examples(
        ({"context": context, "question": question}, {})
        for context, question in (
            (["a", "cat"], ["who"]),
            (["a", "cat"], ["what"]),
            (["a", "dog"], ["who"]),
        )
    )
    assert squad_definitions.count_once(texts) == {
        "a": 2,
        "cat": 1,
        "dog": 1,
        "who": 2,
        "what": 1,
    }


@pytest.mark.slow
def test_each_system_builds_and_reads_what_it_says(tmp_path):
    """All systems of all recipes, without training."""
    for recipe, _ in RECIPES.values():
        config = recipe.Config(
            units=4, embedding_dim=8, vectors_dim=8, num_train=20, batch_size=4
        )
        config = dataclasses.replace(
            config, log_dir=str(tmp_path), systems=list(systems_of(recipe))
        )
        check_systems(recipe, config)


def systems_of(recipe):
    if recipe is snli_definitions:
        return recipe.systems_of(recipe.Config())
    return recipe.systems_of()


def check_systems(recipe, config):
    corpus = recipe.load_corpus(config)
    tokenizer = definition_data.tokenizer_of(corpus)
    read = {
        lm1b_definitions: lambda x: recipe.read_sentences(x, tokenizer, 20),
        snli_definitions: lambda x: recipe.read_pairs(x, tokenizer, 20),
        squad_definitions: lambda x: recipe.read_questions(
            corpus, x, tokenizer, {}
        ),
    }[recipe]
    systems = systems_of(recipe)
    data = definition_data.prepare(config, corpus, read, systems, True)
    for name, system in systems.items():
        features = definition_systems.build_features(
            config, system, data, end=True
        )
        embedding = definition_systems.build_embedding(
            config, system, data, features
        )
        batches = TextBatches(features, data.words)
        batch = next(iter(batches.evaluation(data.test, 4)))
        assert ("definition_ids" in batch) == (system.reads is not None), name
        assert ("spelling_ids" in batch) == system.spelling, name
        assert embedding.word_table.trainable != system.fixed, name
        if system.reads == "vector":
            # Each unknown word has one definition: itself.
            assert (np.asarray(batch["definition_weights"]) == 1).all()


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


def test_json_report_is_plain(finished):
    _, folder = finished
    with open(folder / "logs" / "demo" / "results.json") as file:
        text = file.read()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
