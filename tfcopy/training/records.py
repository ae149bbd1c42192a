"""How to train, how far it is, and what it came to."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Options:
    """How to train.

    Attributes:
        steps: Updates to make at most.
        epochs: Passes over the training data to make at most. One of the two
            is needed; with both, what comes first ends training.
        accumulate: Batches per replica in one update.
        normalize: What the summed loss of an update is divided by: its target
            "tokens", or its "sentences"; or "examples" for the mean over the
            sentences of each one's mean over its tokens.
        clip_norm: Largest global norm of the gradients; `None` for no limit.
        eval_every: Updates between two dev scores; `None` for once an epoch.
        patience: Dev scores in a row without a better one after which training
            ends; `None` for never.
        seed: Of dropout and noise.
        save_every, save_seconds: Save after as many updates, or seconds.
        log_every: Updates between two points in TensorBoard.
        jit_compile: Whether XLA compiles loss and gradients; `None` for
            whether there is a GPU and all layers allow it.
        fresh: Whether to remove what an earlier run left in the folder.
        identity: Dict of strings, such as a hash of the vocabulary, that must
            be the same for a run to be resumed.
        progress_seconds: Seconds between two lines where there is no terminal.
        verbose: `False` for no progress.
    """

    steps: int | None = None
    epochs: int | None = None
    accumulate: int = 1
    normalize: str = "tokens"
    clip_norm: float | None = None
    eval_every: int | None = None
    patience: int | None = None
    seed: int = 0
    save_every: int = 1000
    save_seconds: float = 600
    log_every: int = 50
    jit_compile: bool | None = None
    fresh: bool = False
    identity: dict = dataclasses.field(default_factory=dict)
    progress_seconds: float = 10
    verbose: bool = True

    def __post_init__(self):
        if self.steps is None and self.epochs is None:
            raise ValueError(
                "`steps` or `epochs` must be given. Received neither."
            )
        if self.normalize not in ("tokens", "sentences", "examples"):
            raise ValueError(
                '`normalize` must be "tokens", "sentences" or "examples". '
                f"Received: normalize={self.normalize!r}."
            )
        for name in ("accumulate", "save_every", "log_every", "eval_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(
                    f"`{name}` must be at least 1. Received: {name}={value}."
                )


@dataclasses.dataclass
class State:
    """What a checkpoint holds besides weights and optimizer."""

    update: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    target_tokens: int = 0
    timed_tokens: int = 0
    timed_seconds: float = 0.0
    best_nll: float = math.inf
    best_penalty: float = 0.0
    best_update: int = 0
    bad_evaluations: int = 0
    stopped_early: bool = False
    evaluation_due: bool = False
    phase: int = 0

    def forget_best(self):
        """The best weights are sought anew."""
        self.best_nll, self.best_penalty = math.inf, 0.0
        self.best_update = self.bad_evaluations = 0
        self.stopped_early = False

    def begin_phase(self, has_dev_data):
        """Counts a phase; the weights it begins with are to be scored."""
        self.phase += 1
        self.forget_best()
        self.evaluation_due = has_dev_data


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Scores on a data set, per target token unless named otherwise."""

    nll: float
    penalty: float
    perplexity: float
    nll_per_sentence: float
    target_tokens: int
    metrics: dict


@dataclasses.dataclass(frozen=True)
class Result:
    """What training came to."""

    updates: int
    epochs: int
    seconds: float
    target_tokens: int
    target_tokens_per_second: float
    best_dev_nll: float
    best_dev_penalty: float
    best_dev_perplexity: float
    best_update: int
    stopped_early: bool
