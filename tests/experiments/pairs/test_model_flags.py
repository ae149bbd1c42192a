"""Flags of models and of the search: what they make, what does not go."""

import dataclasses
import importlib
import inspect
import re
import types

import pytest
import yaml

from tfcopy import layers, models
from tfcopy.decoding import SearchOptions
from tfcopy.experiments.config import from_flags
from tfcopy.experiments.pairs import (
    copynet_systems,
    corpus_flags,
    model_flags,
    planning,
    pointer_softmax_systems,
)
from tfcopy.experiments.pairs.model_flags import PairsConfig
from tfcopy.recipes import (
    cnn_dailymail_pg,
    copy_rules_copynet,
    eulerian_pag,
    europarl_ps,
)

WORDS = types.SimpleNamespace(size=9)
DATA = types.SimpleNamespace(vocabularies=(WORDS, WORDS), examples=[], test=[])
SIZES = {"embedding_dim": 8, "units": 8}
TRANSFORMERS = {
    "encoder": "transformer",
    "encoder_layers": 1,
    "encoder_heads": 2,
    "decoder": "transformer",
    "decoder_layers": 3,
    "decoder_heads": 2,
    "feedforward_units": 5,
    "positions": "rotary",
    "normalize_first": False,
    "tied_embeddings": True,
    "dropout": 0.25,
}


class ModelsOnly:
    """Stands for a `Run`: gives the model that it is to build."""

    def __init__(self, config):
        self.config, self.kinds = config, {x: x for x in config.systems}

    def build(self, name, make_model, *_, **__):
        return make_model()


def make_model(family, config):
    """The model of a recipe's system that points."""
    if family == "translator":
        pointer_softmax_systems.check(config)
        return pointer_softmax_systems.make_model(config, DATA, config.head)
    if family == "copynet":
        copynet_systems.check(config)
        return copynet_systems.make_model(config, DATA, "copynet")
    if family == "planner":
        planning.check(config)
        return planning.make_model(config, DATA, "baseline")
    cnn_dailymail_pg.check(config)
    run = ModelsOnly(config)
    return cnn_dailymail_pg.build(run, "pointer_generator_coverage", DATA)


CONFIGS = {
    "translator": europarl_ps.Config(**SIZES, encoder_units=8, coverage=True),
    "copynet": copy_rules_copynet.Config(**SIZES, systems=["copynet"]),
    "planner": eulerian_pag.Config(**SIZES, systems=["baseline"]),
    "summarizer": cnn_dailymail_pg.Config(**SIZES),
}


@pytest.mark.parametrize("family", CONFIGS)
def test_a_transformer_on_both_sides(family):
    config = dataclasses.replace(
        CONFIGS[family], head="pointer_generator", **TRANSFORMERS
    )
    model = make_model(family, config)
    encoder, cell = model.encoder, model.cell
    assert isinstance(encoder, layers.TransformerAnnotations)
    assert (encoder.units, encoder.num_layers, encoder.num_heads) == (16, 1, 2)
    assert encoder.feedforward_units == 5 and encoder.dropout == 0.25
    assert isinstance(cell, layers.TransformerCell)
    assert (cell.units, cell.num_layers, cell.num_heads) == (8, 3, 2)
    assert cell.feedforward_units == 5 and cell.dropout == 0.25
    assert cell.positions == "rotary" and not cell.normalize_first
    assert isinstance(cell.attention, layers.MultiHeadAttention)
    assert cell.attention.num_heads == 2
    has_coverage = family in ("translator", "summarizer")
    assert cell.attention.has_state == has_coverage
    assert model.head.tied and model.initial_state is None
    assert not any("head/kernel" in x.path for x in model.weights)


@pytest.mark.parametrize(
    ("family", "flags", "kinds"),
    [
        (
            "copynet",
            {"encoder": "transformer"},
            (layers.TransformerAnnotations, layers.SelectiveReadGRUCell),
        ),
        (
            "planner",
            {"encoder": "transformer", "decoder": "gru"},
            (layers.TransformerAnnotations, layers.TwoLayerGRUCell),
        ),
        (
            "translator",
            {"decoder": "transformer", "pointing": "additive"},
            (None, layers.TransformerCell),
        ),
    ],
)
def test_one_side_can_be_a_transformer(family, flags, kinds):
    model = make_model(family, dataclasses.replace(CONFIGS[family], **flags))
    encoder, cell = kinds
    assert isinstance(model.encoder, layers.TransformerAnnotations) == bool(
        encoder
    )
    assert isinstance(model.cell, cell)
    if "pointing" in flags:
        assert isinstance(model.cell.attention, layers.CoverageAttention)


# What they are is made of several flags, or has another name.
OTHERWISE = set(
    """decoder_layers decoder_heads positions num_positions normalize_first
    pointing tied_embeddings""".split()
)


@pytest.mark.parametrize(
    ("recipe", "make", "others"),
    [
        (europarl_ps, models.translator, {"switch_activation", "switch_bias"}),
        (copy_rules_copynet, models.copynet, set()),
        (eulerian_pag, models.planner, {"update_gate"}),
        (cnn_dailymail_pg, models.pointer_generator, set()),
    ],
)
def test_each_flag_of_a_model_is_an_argument_of_its_name(recipe, make, others):
    flags = {
        field.name
        for field in dataclasses.fields(recipe.Config())
        if field.metadata["topic"] == "model"
        and not field.name.startswith("baseline_")
    }
    taken = inspect.signature(make).parameters
    # What another network takes the place of the model by.
    flags -= {"backbone", "freeze", "lora_rank"}
    assert flags - taken.keys() == OTHERWISE | others


def test_the_defaults_of_flags_are_those_of_layers():
    options = model_flags.model_options(CONFIGS["translator"])
    cell = layers.TransformerCell(8, layers.MultiHeadAttention(8))
    for name, value in options["decoder_options"].items():
        if name != "pointing":
            assert getattr(cell, name) == value, name


# A family, its flags, and what is said of them.
REFUSED = """
translator {decoder_heads: 3}
    --units must be a multiple of --decoder_heads.*8, --decoder_heads
translator {encoder_units: 3, encoder: transformer}
    Twice --encoder_units must be a multiple of --encoder_heads
translator {positions: rotary, decoder_heads: 8}
    --positions rotary needs --units
translator {attention_units: 6}
    --attention_units must be a multiple of --decoder_heads
translator {tied_embeddings: true, output_units: 4}
    --tied_embeddings needs .* equal to --output_units
copynet {decoder: gru, tied_embeddings: true, embedding_dim: 4}
    --tied_embeddings needs .* equal to --units
copynet {tied_embeddings: true, deep_readout: true}
    --tied_embeddings and --deep_readout do not go together
copynet {systems: [enc_dec]}
    --decoder transformer attends: .* not with enc_dec
planner {systems: [baseline, pag]}
    --decoder transformer does not plan
planner {systems: [baseline_ln]}
    layer normalisation of its own
summarizer {decode_initial_attention: true}
    --decode_initial_attention needs --decoder lstm
"""


@pytest.mark.parametrize("case", re.findall("(.+)\n    (.+)", REFUSED))
def test_flags_that_do_not_go_together_are_named(case):
    (family, flags), message = case[0].split(maxsplit=1), case[1]
    flags = {"decoder": "transformer", **yaml.safe_load(flags)}
    config = dataclasses.replace(CONFIGS[family], **flags)
    with pytest.raises(ValueError, match=message) as error:
        make_model(family, config)
    assert "\n" not in str(error.value)


RECIPES = """cnn_dailymail_pg copy_rules_copynet dialogue_copynet eulerian_pag
    europarl_ps gigaword_ps lcsts_copynet pydocs_ps wmt15_pag""".split()
FLAGS = {
    "num_beams": 3,
    "same_in_every_batch": False,
    "length_penalty": 0.4,
    "unfinished_compete": True,
    "coverage_penalty": 0.3,
    "no_repeat_ngram": 2,
    "forbid_unk": True,
}


def test_each_flag_is_an_option_of_the_search():
    options = from_flags(SearchOptions, PairsConfig(**FLAGS), min_length=4)
    assert options.min_length == 4
    for name, value in FLAGS.items():
        assert getattr(options, name) == value


@pytest.mark.parametrize("name", RECIPES)
def test_each_recipe_has_the_flags(name):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    assert issubclass(recipe.Config, PairsConfig)
    names = {field.name for field in dataclasses.fields(recipe.Config)}
    assert names >= {*FLAGS, "replace_unk"}


@pytest.mark.parametrize(
    ("flags", "tokenize"),
    [
        ({"target_language": "fr"}, "13a"),
        ({"target_language": "zh_TW"}, "zh"),
        ({"target_language": "ja"}, "char"),
        ({"target_language": "ja", "bleu_tokenize": "13a"}, "13a"),
    ],
)
def test_bleu_is_of_characters_where_there_are_no_blanks(flags, tokenize):
    assert corpus_flags.bleu_tokenize(europarl_ps.Config(**flags)) == tokenize
