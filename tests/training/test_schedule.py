"""Which weights are kept to be averaged."""

import math
import types

import pytest

from tfcopy.training.schedule import Schedule


def kept_after(costs, **options):
    """The updates that are kept after dev scores of these costs."""
    names = ("score", "plateau", "patience", "lower_is_better")
    options = types.SimpleNamespace(**dict.fromkeys(names), **options)
    optimizer = types.SimpleNamespace(variables=())
    schedule = Schedule(options, (), optimizer, True)
    state = types.SimpleNamespace(dev_history=[], kept=[], bad_evaluations=0)
    state.best_nll = state.best_penalty = math.inf
    for state.update, cost in enumerate(costs, start=1):
        scores = types.SimpleNamespace(nll=cost, penalty=0.0, metrics={})
        schedule.count_scores(scores, state)
    return [update for update, _ in state.kept]


@pytest.mark.parametrize(
    ("average", "kept"), [("last", [4, 5]), ("best", [2, 4]), (None, [])]
)
def test_as_many_are_kept_as_are_averaged(average, kept):
    costs = [3.0, 1.0, 2.0, 1.0, math.nan]
    assert kept_after(costs, average=average, average_of=2) == kept
    assert kept_after(costs[:1], average=average, average_of=2) == (
        [1] if average else []
    )
