"""Any head in any recipe of pairs, the rest of the command unchanged."""

import importlib

import pytest

from tests.recipes import starting

CASES = {
    "gigaword_ps": ("copynet", "pointer_generator"),
    "copy_rules_copynet": ("pointer_softmax", "pointer_generator"),
    "dialogue_copynet": ("pointer_softmax", "pointer_generator"),
    "lcsts_copynet": ("pointer_softmax", "pointer_generator"),
}


def test_what_is_no_head_is_told_before_anything_is_written(tmp_path, capfd):
    module = importlib.import_module("tfcopy.recipes.europarl_ps")
    status = starting.start(module, [], tmp_path, "--head", "nowhere:Mine")
    *_, line = capfd.readouterr().err.splitlines()
    assert status == 2
    assert line.startswith("europarl_ps: --head nowhere:Mine: cannot")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* pairs for")  # few news of lcsts_copynet
@pytest.mark.parametrize(
    "recipe, head", [(x, head) for x in CASES for head in CASES[x]]
)
def test_another_head(recipe, head, tmp_path):
    module = importlib.import_module(f"tfcopy.recipes.{recipe}")
    tiny = importlib.import_module(f"tests.recipes.test_{recipe}").TINY
    assert starting.start(module, tiny, tmp_path, "--head", head) == 0
    pointing = list(starting.results(tmp_path)["systems"])[-1]
    assert pointing.endswith(f"_{head}_head")
