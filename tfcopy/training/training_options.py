"""Options of training."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of training.

    Attributes:
        steps: The most updates to make.
        epochs: The most passes over the training data. One of the two is
            needed; with both, training ends at the first limit reached.
        accumulate: Batches per replica in one update.
        targets: Name of the tensor of a batch that holds the targets. In word
            ids, `(B, T)`, such as `target_ids`, all count but padding; in a
            tensor `(B,)`, such as a class, each example counts once.
        normalize: What the summed loss of an update is divided by: its target
            "tokens", or its "sentences"; or "examples" for the mean over the
            sentences of each one's mean over its tokens. All three are the
            same where examples are counted.
        clip_norm: Largest global norm of the gradients; `None` for no limit.
        eval_every: Updates between two dev scores; `None` for once an epoch.
        score: Name of the dev score that chooses the best weights, one of those
            that the trainer's `metrics` and `score_predictions` give; `None`
            for the loss.
        lower_is_better: Whether a lower `score` is better.
        patience: Number of dev scores without improvement after which training
            ends; `None` for never.
        plateau: Number of dev scores without improvement after which the
            learning rate, which must be a number, is halved; `None` for never.
        average: What training ends with: the mean of the weights of the "last"
            or the "best" dev scores, `average_of` of them; `None` for the
            best weights. Of a run with phases only the last one's count.
        average_of: The most dev scores whose weights are averaged.
        seed: The seed of dropout and noise.
        save_every, save_seconds: Save after as many updates, or seconds.
        log_every: Updates between two points in TensorBoard.
        jit_compile: Whether XLA compiles loss and gradients; by default if
            there is a GPU and all layers allow it.
        fresh: Whether to remove what an earlier run left in the folder.
        identity: Dict of strings, such as a hash of the vocabulary, that must
            be the same for a run to be resumed.
        batches: Dict of strings that the batches depend on, such as whether XLA
            compiles; as `identity`, but of no matter to a run that has ended.
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
                "`steps` or `epochs` must be given. Received neither."
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
