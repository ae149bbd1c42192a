"""The progress of a training."""

import dataclasses
import math


@dataclasses.dataclass
class State:
    """What a checkpoint holds besides weights and optimizer.

    The `tokens` in the names of checkpoints are targets of any kind.
    """

    update: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    target_tokens: int = 0
    timed_tokens: int = 0
    timed_seconds: float = 0.0
    best_nll: float = math.inf
    best_penalty: float = 0.0
    best_score: float | None = None
    best_update: int = 0
    bad_evaluations: int = 0
    stopped_early: bool = False
    evaluation_due: bool = False
    phase: int = 0
    # The dev scores whose weights are to be averaged: update, and cost, of
    # which less is better. Then the updates and the scores of their mean.
    kept: list[list] = dataclasses.field(default_factory=list)
    average: dict | None = None
    # The update of each dev score, and its loss.
    dev_history: list[list] = dataclasses.field(default_factory=list)

    @classmethod
    def from_dict(cls, values):
        """Restores a state from the dict that `to_dict` made."""
        unknown = values.keys() - {f.name for f in dataclasses.fields(cls)}
        if unknown:
            raise ValueError(f"its state has {sorted(unknown)}, unknown here")
        return cls(**values)

    def to_dict(self):
        """The fields as values that JSON can hold; empty ones are left out."""
        fields = dataclasses.asdict(self)
        return {k: v for k, v in fields.items() if v is not None}

    def move_behind(self, item):
        """Counts an update, whose last batch is an `Item`."""
        self.update += 1
        self.epoch, self.batch = item.epoch, item.index + 1
        if item.last_of_epoch:
            self.epoch, self.batch = item.epoch + 1, 0

    def forget_best(self):
        """Forgets the best score, so that the next one is the best."""
        self.best_nll, self.best_penalty = math.inf, 0.0
        self.best_score = None
        self.best_update = self.bad_evaluations = 0
        self.stopped_early = False
