"""Heads by name, and a user's own."""

import sys
import types

import pytest

from tfcopy import layers
from tfcopy.experiments.pairs import pointer_softmax_systems
from tfcopy.models import translator
from tfcopy.models.assembly import head_class, make_head
from tfcopy.recipes import europarl_ps
from tfcopy.tokens import HEADS

MODULE = """
import keras

from tfcopy.layers import PointerGeneratorHead, SoftmaxHead


@keras.saving.register_keras_serializable(package="mine")
class Mine(PointerGeneratorHead):
    inherits = frozenset(["switch_bias"])
    merge = "max"


class Unregistered(SoftmaxHead):
    pass


number = 3
"""


@pytest.fixture
def my_heads(tmp_path, monkeypatch):
    """The name of a module."""
    (tmp_path / "my_heads.py").write_text(MODULE)
    (tmp_path / "ends.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "fails.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_heads"
    for name in ("my_heads", "ends", "fails"):
        sys.modules.pop(name, None)


def test_each_name_is_a_head():
    found = [head_class(name) for name in HEADS]
    assert all(issubclass(kind, layers.SoftmaxHead) for kind in found)
    assert len({*found}) == len(HEADS) == 4


def test_ones_own_head_is_made_with_the_options_of_all(my_heads):
    head = make_head(f"{my_heads}:Mine", 9, tied=True, kernel_initializer=None)
    assert type(head).__name__ == "Mine" and head.tied and head.name == "head"
    model = translator(9, 9, head=f"{my_heads}:Mine", units=4)
    assert type(model.head) is type(head)


def test_a_new_head_takes_from_models_and_flags_what_its_class_says(my_heads):
    """No model and no recipe knows its name."""
    name = f"{my_heads}:Mine"
    given = {"switch_bias": 3.0, "switch_units": 5}
    head = make_head(name, 9, given)
    assert head.switch_bias == 3.0 and not hasattr(head, "switch_units")
    assert make_head(name, 9, given, switch_bias=1.0).switch_bias == 1.0
    assert make_head("pointer_generator", 9, given).switch_bias == 0.0
    assert make_head("pointer_softmax", 9, given).switch_units == 5
    config = europarl_ps.Config(head=name, units=4, switch_bias=2.0)
    words = types.SimpleNamespace(size=9)
    data = types.SimpleNamespace(vocabularies=(words, words))
    model = pointer_softmax_systems.make_model(config, data, name)
    assert model.head.switch_bias == 2.0
    merges = {kind: head_class(kind).merge for kind in (*HEADS, name)}
    assert [x for x, merge in merges.items() if merge == "max"] == [
        "pointer_softmax",
        name,
    ]


@pytest.mark.parametrize(
    "name, message",
    [
        ("foo", "`head` must be one of .*or MODULE:CLASS. Received: 'foo'"),
        ("nowhere:Mine", "cannot be imported .*No module named 'nowhere'"),
        ("my_heads:Nothing", "cannot be imported .*no attribute 'Nothing'"),
        ("my_heads:", "cannot be imported .*no attribute ''"),
        (":Mine", "cannot be imported .*Empty module name"),
        ("..:Mine", "cannot be imported"),
        ("ends:Mine", "cannot be imported .SystemExit: 0"),
        ("fails:Mine", "cannot be imported .ZeroDivisionError"),
        ("my_heads:number", "not a head; it must be a sub"),
        ("os.path:join", "not a head; it must be a sub"),
        ("tfcopy.layers:BahdanauAttention", "not a head; it must be a sub"),
        ("my_heads:Unregistered", "it must be registered"),
    ],
)
def test_what_is_no_head_is_told(my_heads, name, message):
    with pytest.raises(ValueError, match=message):
        head_class(name)
