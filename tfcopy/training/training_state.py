"""How to train, how far it is, and what it came to."""

import dataclasses
import math

from tfcopy.training.progress import perplexity


@dataclasses.dataclass(frozen=True)
class Options:
    """How to train.

    Attributes:
        steps: Updates to make at most.
        epochs: Passes over the training data to make at most. One of the two
            is needed; with both, what comes first ends training.
        accumulate: Batches per replica in one update.
        targets: Name of the tensor of a batch that tells what counts. Of ids
            of words, `(B, T)`, such as `target_ids`, all count but padding;
            of a tensor `(B,)`, such as a class, each example counts once.
        normalize: What the summed loss of an update is divided by: its target
            "tokens", or its "sentences"; or "examples" for the mean over the
            sentences of each one's mean over its tokens. All three are the
            same where examples are counted.
        clip_norm: Largest global norm of the gradients; `None` for no limit.
        eval_every: Updates between two dev scores; `None` for once an epoch.
        score: Name of the dev score that tells which weights are the best, of
            those that `metrics` and `score_predictions` of the trainer give;
            `None` for the loss.
        lower_is_better: Whether that is so for `score`.
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
    targets: str = "target_ids"
    normalize: str = "tokens"
    clip_norm: float | None = None
    eval_every: int | None = None
    score: str | None = None
    lower_is_better: bool = False
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

    def forget_best(self):
        """The best weights are sought anew."""
        self.best_nll, self.best_penalty = math.inf, 0.0
        self.best_score = None
        self.best_update = self.bad_evaluations = 0
        self.stopped_early = False

    def begin_phase(self, has_dev_data):
        """Counts a phase; the weights it begins with are to be scored."""
        self.phase += 1
        self.forget_best()
        self.evaluation_due = has_dev_data


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Scores on a data set, per target unless named otherwise.

    Targets are words, or examples; see `Options.targets`. The properties are
    those of words.
    """

    nll: float
    penalty: float
    nll_per_sentence: float
    targets: int
    metrics: dict

    @property
    def perplexity(self):
        return perplexity(self.nll)

    @property
    def target_tokens(self):
        return self.targets


@dataclasses.dataclass(frozen=True)
class Result:
    """What training came to.

    Targets are words, or examples; see `Options.targets`. The properties are
    those of words. The losses are those of the best weights, which are the
    ones with the best `Options.score` if there is one.
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

    @property
    def target_tokens(self):
        return self.targets

    @property
    def target_tokens_per_second(self):
        return self.targets_per_second

    @property
    def best_dev_perplexity(self):
        return perplexity(self.best_dev_nll)
