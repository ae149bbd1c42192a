"""The flags of the search, which all recipes of pairs of texts have."""

import dataclasses
import importlib

import pytest

from tfcopy.experiments.pairs import translators
from tfcopy.experiments.pairs.model_flags import PairsConfig

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
    options = translators.search_options(PairsConfig(**FLAGS), min_length=4)
    assert options.min_length == 4
    for name, value in FLAGS.items():
        assert getattr(options, name) == value


@pytest.mark.parametrize("name", RECIPES)
def test_each_recipe_has_the_flags(name):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    assert issubclass(recipe.Config, PairsConfig)
    names = {field.name for field in dataclasses.fields(recipe.Config)}
    assert names >= {*FLAGS, "replace_unk"}
