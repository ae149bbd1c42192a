"""Results: scores on a data set, and the outcome of training."""

import dataclasses
from typing import NamedTuple

from tfcopy.training.reports import perplexity


class Totals(NamedTuple):
    """Sums over a part of a data set, as tensors or as values on the host.

    Attributes:
        nll, penalty: Sums of the targets' losses and penalties.
        targets: Number of targets.
        examples: Number of examples.
        metrics: Dict of metrics, each times the number of targets.
    """

    nll: float
    penalty: float
    targets: float
    examples: float
    metrics: dict


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Scores on a data set, means over targets unless named otherwise.

    Targets are tokens or examples; see `Options.targets`. The perplexity is for
    tokens.

    ```python
    trainer.evaluate(batches).perplexity
    ```
    """

    nll: float
    penalty: float
    nll_per_sentence: float
    targets: int
    metrics: dict
    per_example: bool = False

    @classmethod
    def from_totals(cls, totals, per_example):
        """Computes the means from `Totals` on the host."""
        nll, penalty, targets, examples, metrics = totals
        if not targets:
            raise ValueError(
                "The data to score must have targets. Received none."
            )
        return cls(
            nll=float(nll / targets),
            penalty=float(penalty / targets),
            nll_per_sentence=float(nll / examples),
            targets=int(targets),
            metrics={k: float(total / targets) for k, total in metrics.items()},
            per_example=per_example,
        )

    @property
    def perplexity(self):
        return perplexity(self.nll)


@dataclasses.dataclass(frozen=True)
class Result:
    """Results of training.

    Targets are tokens or examples; see `Options.targets`. The perplexity is for
    tokens. The losses belong to the weights with which training ends: the mean
    of the weights after `averaged_updates`, if not empty, or otherwise the best
    weights, by `Options.score` if set. `dev_history` has the update and the
    loss of each dev score.

    ```python
    result = trainer.fit()
    result.updates, result.best_dev_perplexity
    ```
    """

    updates: int
    epochs: int
    seconds: float
    targets: int
    targets_per_second: float
    best_dev_nll: float
    best_dev_penalty: float
    best_dev_score: float | None
    best_update: int
    stopped_early: bool
    dev_history: list[list]
    averaged_updates: list[int]

    @classmethod
    def from_state(cls, state):
        """Returns the results at a `State`."""
        seconds = max(state.timed_seconds, 1e-9)
        scores = {
            "nll": state.best_nll,
            "penalty": state.best_penalty,
            "score": state.best_score,
            "updates": [],
            **(state.average or {}),
        }
        return cls(
            updates=state.update,
            epochs=state.epoch,
            seconds=state.seconds,
            targets=state.target_tokens,
            targets_per_second=state.timed_tokens / seconds,
            best_dev_nll=scores["nll"],
            best_dev_penalty=scores["penalty"],
            best_dev_score=scores["score"],
            best_update=state.best_update,
            stopped_early=state.stopped_early,
            dev_history=state.dev_history,
            averaged_updates=scores["updates"],
        )

    @property
    def best_dev_perplexity(self):
        return perplexity(self.best_dev_nll)
