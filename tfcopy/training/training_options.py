"""Options of training."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of training.

    Attributes:
        steps: Maximum number of updates.
        epochs: Maximum number of passes over the training data. Either `steps`
            or `epochs` is needed; with both, training ends at the first limit.
        accumulate: Number of batches per replica in one update.
        targets: Name of the tensor of a batch that contains the targets. In a
            tensor of token ids, `(B, T)`, such as `target_ids`, all but padding
            count; in a tensor `(B,)`, such as a class, each example counts
            once.
        normalize: Divisor of the summed loss of an update: its target "tokens"
            or its "sentences"; or "examples", for the mean over the sentences
            of each one's mean over its tokens. All three are equal if each
            example has one target.
        clip_norm: Maximum global norm of the gradients; `None` for no limit.
        eval_every: Updates between two dev scores; `None` for once an epoch.
        score: Name of the dev score that selects the best weights, from the
            trainer's `metrics` or `score_predictions`; `None` for the loss.
        lower_is_better: Whether a lower `score` is better.
        patience: Number of dev scores without improvement after which training
            ends; `None` for never.
        plateau: Number of dev scores without improvement after which the
            learning rate, which must be a number, is halved; `None` for never.
        average: Whether training ends with the mean of several weights: the
            `average_of` "last" ones or those with the "best" dev scores; `None`
            for the best weights. Only dev scores of the last phase count.
        average_of: Maximum number of weights to average.
        seed: Seed of dropout and noise.
        save_every: Updates between two checkpoints.
        save_seconds: Seconds after which a checkpoint is written, too.
        log_every: Updates between two points in TensorBoard.
        jit_compile: Whether XLA compiles loss and gradients; by default if
            there is a GPU and all layers support it.
        fresh: Whether to remove the files of an earlier run from the folder.
        identity: Dict of strings, such as a hash of the vocabulary, that must
            be the same when a run is resumed.
        batches: Dict of strings on which the batches depend, such as whether
            XLA compiles; checked as `identity` is, except if the run has ended.
        progress_seconds: Seconds between two lines without a terminal.
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
    plateau: int | None = None
    average: str | None = None
    average_of: int = 5
    seed: int = 0
    save_every: int = 1000
    save_seconds: float = 600
    log_every: int = 50
    jit_compile: bool | None = None
    fresh: bool = False
    identity: dict = dataclasses.field(default_factory=dict)
    batches: dict = dataclasses.field(default_factory=dict)
    progress_seconds: float = 10
    verbose: bool = True

    def __post_init__(self):
        if self.steps is None and self.epochs is None:
            raise ValueError(
                "`steps` or `epochs` must be given. Received: neither."
            )
        if self.normalize not in ("tokens", "sentences", "examples"):
            raise ValueError(
                '`normalize` must be "tokens", "sentences" or "examples". '
                f"Received: normalize={self.normalize!r}."
            )
        if self.average not in (None, "last", "best"):
            raise ValueError(
                '`average` must be None, "last" or "best". '
                f"Received: average={self.average!r}."
            )
        for name in (
            "accumulate",
            "save_every",
            "log_every",
            "eval_every",
            "plateau",
            "average_of",
        ):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(
                    f"`{name}` must be at least 1. Received: {name}={value}."
                )
