"""The flags of recipes, each declared once: its type, its default, its help.

A recipe's `Config` inherits the groups that it needs, changes some of their
defaults (`configuration`), and declares its own flags. A helper takes
the group that it reads. Below are the readers of a config, the checks of flags
that name a corpus, and the columns that tables of results share. This file
imports nothing heavy, so that `--help` answers at once.
"""

import dataclasses
import functools
import inspect
import os
import re
from typing import Annotated, ClassVar, Literal

from tfcopy import filesystem
from tfcopy.flags import (
    Check,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    default_of,
    flag,
)
from tfcopy.tokens import HEADS, POINTING_HEADS, SPECIAL_TOKENS

Share = Annotated[
    float, Check("a number of at least 0 and below 1", lambda x: 0 <= x < 1)
]
# As many as `SearchOptions` takes.
Beams = Annotated[
    int, Check("an integer from 1 to 10,000", lambda x: 1 <= x <= 10_000)
]
Seed = Annotated[
    int, Check("a non-negative integer below 2^32", lambda x: 0 <= x < 2**32)
]


def _head(names):
    """Returns the check of a name that `assembly.head_class` takes."""
    form = re.compile(rf"{'|'.join(names)}|[\w.]+:\w+")
    return Check(f"{', '.join(names)} or MODULE:CLASS", form.fullmatch)


# Of a vocabulary, special words included.
VocabularySize = Annotated[
    int,
    Check(
        f"above {len(SPECIAL_TOKENS)}, the number of special words",
        lambda x: x > len(SPECIAL_TOKENS),
    ),
]
# Heads that point, for the help of flags.
POINTING = f"{', '.join(POINTING_HEADS)}, or your own, as MODULE:CLASS."
Head = Annotated[str, _head(HEADS)]
PointingHead = Annotated[str, _head(POINTING_HEADS)]

# Learning rates that do not depend on the number of updates to come.
ENDLESS_SCHEDULES = ("constant", "inverse_sqrt", "plateau")

# Headings of `--help`, in its order.
TOPICS = ("data", "model", "training", "search", "results")


def _make_flag(*arguments, **metadata):
    """Returns a function that declares a flag, as `flag` does.

    Args:
        *arguments: The default, where it is always the same.
        **metadata: Metadata of the flag. `topic` is one of `TOPICS`. A flag
            that is `fixed` must stay the same when a run is resumed. Others
            set the length of training, the test, and the names of files, whose
            content counts (`PairData.identity`, `DefinitionData.identity`).
            `role` is the flag's place in a model card: see `origin`. A flag
            that is `replaced` describes the recipe's own network or words,
            which `--backbone` replaces. Another value of one that `is_part`
            makes another system, which is named after it: see `name_of`.

    The function's `common` declares a flag that `--help` shows; `--help_all`
    shows all flags.
    """
    declare = functools.partial(flag, *arguments, **metadata)
    declare.common = functools.partial(declare, common=True)
    return declare


data = _make_flag(topic="data", fixed=True)
model = _make_flag(topic="model", fixed=True)
variant_flag = _make_flag(topic="model", fixed=True, is_part=True)
training = _make_flag(topic="training", fixed=True)
search = _make_flag(topic="search", fixed=False)
results = _make_flag(topic="results", fixed=False)
unrecorded = _make_flag(topic="results", fixed=False, role="aside")
systems = functools.partial(training.common, fixed=False)
# A file or folder, or a list of them, that is read after the corpus. A recipe
# checks first of all that it exists.
file = _make_flag(None, topic="data", fixed=False, is_file=True, role="input")


def corpus_file(help=None, corpus="file", **more):
    """Declares a flag that names a corpus, which is read first of all.

    Args:
        help: Its description in `--help`, if the docstring has none.
        corpus: The kind of the value, after which a run is named: a `"file"`,
            a `"folder"`, a `"dataset"`, or a `"place"` that holds the corpus
            of another flag or of the preset.
        **more: More metadata. With `of_preset`, the flag names the preset's own
            corpus if the preset has one.
    """
    more = {"fixed": False, "of_preset": corpus == "place", **more}
    return data.common(None, help, corpus=corpus, **more)


def group(cls):
    """Makes a class a group of flags: a frozen dataclass."""
    return dataclasses.dataclass(frozen=True)(cls)


def configuration(
    recipe,
    *,
    presets={},
    claims={},
    baselines=(),
    minutes={},
    corpora={},
    **defaults,
):
    """Makes a class the config of a recipe.

    Args:
        recipe: Name of the recipe, which its folders are named after.
        presets: Name to the flags that differ from the defaults.
        claims: Dict from the paper's claims to figures of results.json, which
            each run compares. The first word of a claim is the system that is
            expected to be better, the last word the other one. Dots in the
            name of a figure lead to a part of the results; a minus before it
            means that less is better.
        baselines: The systems that flags `baseline_X` apply to.
        minutes: Preset to the minutes that it takes on two cores, measured.
        corpora: Preset to the corpus that it reads where no flag names one.
        **defaults: Other defaults of inherited flags.

    Raises:
        TypeError: If a default is of a flag that is not inherited.
    """

    def decorate(cls):
        folders = {
            "log_dir": f"tensorboard_logs/{recipe}",
            "savedmodel_dir": f"savedmodels/{recipe}",
        }
        inherited = {}
        for base in reversed(cls.__mro__[1:]):
            inherited |= getattr(base, "__dataclass_fields__", {})
        for name, default in (folders | defaults).items():
            if name not in inherited:
                raise TypeError(f"{cls.__name__} inherits no flag {name!r}.")
            field = inherited[name]
            cls.__annotations__[name] = field.type
            setattr(cls, name, flag(default, **field.metadata))
        cls.recipe, cls.presets = recipe, presets
        cls.baselines = tuple(baselines)
        cls.minutes, cls.corpora, cls.claims = minutes, corpora, claims
        return group(cls)

    return decorate


# === Groups of all recipes ===


@group
class RunConfig:
    """Preset and seed of a run, and the folders of its results.

    Attributes:
        systems: Systems to train.
        preset: Set of defaults for corpus, model sizes and training. The
            defaults below apply where a flag names your data. Without one, demo
            is the quickest way to see a recipe at work; thorough takes longer.
        devices: Devices to train on: cpu, cpu:2 (two logical CPUs), gpu (all
            GPUs), gpu:0,2 (two of them); by default all GPUs, or the CPU if
            there is none. `tfcopy worker` uses several machines.
        seed: Random seed of weights, shuffling and noise.
        init_from: Folder of an earlier run, or of one of its systems: training
            begins with its best weights (fine-tuning). Words of other
            vocabularies are matched by their spelling.
        run: Name of the run; if not given, that of your data, or the preset's.
        log_dir: Folder for logs, checkpoints and results; like all paths it may
            be a URL, such as gs://bucket/logs.
        savedmodel_dir: Folder for the SavedModel of the exported system.
        license: Licence of the exported model, for its model card, such as
            CC-BY-4.0.
        fresh: Start over: discard the checkpoints and logs of an earlier run of
            this name. The same command, repeated after an interruption, still
            resumes.
    """

    recipe: ClassVar[str]
    presets: ClassVar[dict[str, dict]] = {}
    baselines: ClassVar[tuple[str, ...]] = ()
    minutes: ClassVar[dict[str, float]] = {}
    corpora: ClassVar[dict[str, str]] = {}
    claims: ClassVar[dict[str, str]] = {}
    # Systems that generate all words, whatever --head is, and systems without
    # a model.
    plain: ClassVar[tuple[str, ...]] = ()
    untrained: ClassVar[tuple[str, ...]] = ()

    systems: list[str] = systems([])
    preset: str = results.common("demo")
    devices: str | None = training.common(None, fixed=False, role="aside")
    seed: Seed = training.common(0)
    init_from: str | None = file(topic="training", fixed=True)
    run: str | None = unrecorded.common(None)
    log_dir: str = unrecorded("")
    savedmodel_dir: str = unrecorded.common("")
    license: str | None = unrecorded(None)
    fresh: bool = unrecorded.common(False)


@group
class TrainingConfig:
    """Optimizer, batches and length of a training.

    Attributes:
        optimizer: adam, adagrad (accumulators start at 0.1), or adadelta.
        learning_rate: Learning rate of the optimizer.
        weight_decay: Share of the weights, times the learning rate, that each
            update also subtracts: of matrices and tables, not of biases and
            other vectors, such as gains of normalisation.
        schedule: Learning rate schedule: constant; linear or cosine decay to
            zero right after the last update; inverse_sqrt, decay with the
            inverse square root of the number of updates, after --warmup; or
            plateau, by half after --plateau evaluations without improvement.
        plateau: Evaluations without improvement after which --schedule plateau
            halves the learning rate.
        warmup: Updates over which the learning rate rises linearly to
            --learning_rate, before the --schedule begins.
        batch_size: Examples per batch, over all devices; all of them if there
            are fewer.
        batch_tokens: Tokens per batch, over all devices, padding included and
            of pairs the longer side, instead of --batch_size, which then counts
            on the validation set alone.
        accumulate: Batches per update, whose gradients are accumulated.
        clip_norm: Gradients are clipped to this global norm; null for no
            clipping.
        updates: Maximum number of updates for each system.
        eval_every: Updates between evaluations on the validation set.
        save_every: Updates between checkpoints; they are also written each 10
            minutes.
        patience: Stop early after this many evaluations without improvement;
            never if not given.
        ema: Keep an exponential moving average of the weights with this
            momentum, such as 0.999; it is what is scored, chosen and exported.
        average: End with the mean of the weights of the last, or the best,
            evaluations on the validation set, instead of the best weights.
        average_of: Number of evaluations whose weights --average averages.
        xla: Compile training by XLA: on, off, or auto (if there is a GPU). Each
            shape of a batch takes a compilation; batches of pairs of texts have
            at most 16 shapes then.
        precision: Numeric precision: float32 or mixed_bfloat16.
    """

    optimizer: Literal["adam", "adagrad", "adadelta"] = training("adam")
    learning_rate: PositiveFloat = training.common(2e-3)
    weight_decay: NonNegativeFloat = training(0.0)
    schedule: Literal[
        "constant", "linear", "cosine", "inverse_sqrt", "plateau"
    ] = training("linear")
    plateau: PositiveInt = training(1)
    warmup: NonNegativeInt = training(0)
    batch_size: PositiveInt = training.common(32)
    batch_tokens: PositiveInt | None = training(None)
    accumulate: PositiveInt = training(1)
    clip_norm: PositiveFloat | None = training(5.0)
    updates: PositiveInt = training.common(1_000, fixed=False)
    eval_every: PositiveInt = training(250, fixed=False)
    save_every: PositiveInt = training(1_000, fixed=False)
    patience: PositiveInt | None = training(None, fixed=False)
    ema: Share | None = training(None)
    average: Literal["last", "best"] | None = training(None)
    average_of: PositiveInt = training(5)
    xla: Literal["auto", "on", "off"] = training("auto", fixed=False)
    precision: Literal["float32", "mixed_bfloat16"] = training("float32")


@group
class ModelConfig:
    """Sizes that nearly all models have.

    Attributes:
        embedding_dim: Size of the embeddings.
        units: Size of the recurrent layers, per direction in an encoder.
        dropout: Dropout rate of embeddings, of outputs and in Transformers.
    """

    embedding_dim: PositiveInt = model(64, replaced=True)
    units: PositiveInt = model.common(128, replaced=True)
    dropout: Share = model(0.0)


# === Flags beside `--backbone` ===

# Defaults for a pretrained network, which win over those of a preset.
PRETRAINED = {
    "learning_rate": 1e-4,
    "schedule": "linear",
    "optimizer": "adam",
    "clip_norm": 1.0,
    "dropout": 0.0,  # besides its own
    "head": "pointer_generator",
    "candidates": None,
    "merge": "sum",
}

# === Reading a config ===

_BASELINE = "baseline_"


def identity(config: TrainingConfig) -> dict:
    """Returns the flags that must stay the same in a resumed run.

    Args:
        config: The config of a system, from `config_for_system`.

    Returns:
        Dict from `--flag` to its value. Learning rates that fall to zero
        depend on the number of updates, which is fixed then.
    """
    fixed = {
        f"--{field.name}": getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.metadata["fixed"]
        # In the baseline's own config they have replaced the others.
        and not field.name.startswith(_BASELINE)
    }
    if config.schedule not in ENDLESS_SCHEDULES:
        fixed["--updates"] = config.updates
    return fixed


def get_changed(config: RunConfig) -> dict:
    """Returns the flags that are not at their defaults, for JSON."""
    flags = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value != default_of(field):
            flags[field.name] = value
    return flags


def locate_changed(config: RunConfig) -> dict:
    """Returns the changed flags, with absolute paths of files and folders."""

    def locate(value):
        if isinstance(value, list):
            return [locate(x) for x in value]
        is_path = isinstance(value, str) and filesystem.exists(value)
        return filesystem.abspath(value) if is_path else value

    flags = get_changed(config)
    for field in dataclasses.fields(config):
        kind = field.metadata.get("corpus", "dataset")
        is_file = kind != "dataset" or field.metadata.get("is_file")
        if is_file and field.name in flags:
            flags[field.name] = locate(flags[field.name])
    return flags


def _get_preset_flags(config):
    """Returns the values of all flags in the preset."""
    flags = {x.name: default_of(x) for x in dataclasses.fields(config)}
    return flags | config.presets.get(config.preset, {})


def estimate_minutes(config: RunConfig) -> float | None:
    """Returns the minutes of a preset on two cores, if flags keep them."""
    expected = _get_preset_flags(config)
    for field in dataclasses.fields(config):
        if field.metadata["topic"] == "results" or field.name == "seed":
            continue
        if getattr(config, field.name) != expected[field.name]:
            return None
    return config.minutes.get(config.preset)


def from_flags(make, config, **own):
    """Calls a class or a function with the flags that it has parameters for.

    A flag is its argument of the same name: `from_flags(SearchOptions, config)`
    is `SearchOptions(num_beams=config.num_beams, ...)`. Where a flag means
    something else than the argument of its name, this must be among `own`.

    Args:
        make: The class or the function.
        config: The flags.
        **own: Its other arguments; one wins over the flag of its name.
    """
    taken = inspect.signature(make).parameters
    flags = {name: x for name, x in vars(config).items() if name in taken}
    return make(**flags | own)


def origin(config: RunConfig) -> dict:
    """Returns what a model card has to know of the flags.

    Returns:
        Dict from a role to the flags that have it and are not at their
        defaults: `"corpus"` for training, `"test"` for testing, other
        `"input"`, and `"aside"`, which changes nothing about the model.
        `"of_preset"` is the corpus that is read where no flag names one;
        `None` if the recipe generates it.
    """
    roles = {"of_preset": config.corpora.get(config.preset)}
    given = get_changed(config)
    for field in dataclasses.fields(config):
        is_corpus = "corpus" in field.metadata
        role = "corpus" if is_corpus else field.metadata.get("role")
        if field.name in given and role:
            roles.setdefault(role, {})[field.name] = given[field.name]
    return roles


def has_backbone(config: RunConfig) -> bool:
    """Returns whether `--backbone` is given; not all recipes have it."""
    return vars(config).get("backbone") is not None


def run_name(config: RunConfig) -> str:
    """Returns the default name of a run, another one for other data.

    It is the preset if the corpus is the preset's own, otherwise the name of
    the corpus: its first file without extensions, its folder, or its dataset.
    """
    if has_backbone(config):
        own = run_name(dataclasses.replace(config, backbone=None))
        return f"{own}_{_readable(config.backbone)}"
    is_demo = config.preset == "demo"
    given = find_given_corpora(config, but_the_presets=not is_demo)
    if not given:
        return config.preset
    name, value = given[0].name, getattr(config, given[0].name)
    if value is not True:
        name = _readable(value, given[0].metadata["corpus"]) or "data"
    if not is_demo or name in ("demo", *config.presets):
        return f"{config.preset}_{name}"
    return name


# Kinds of corpora; the name of a run is taken from the first one.
_RANKS = {"file": 0, "folder": 0, "dataset": 1, "place": 2}


def corpus_flags(kind: type[RunConfig]) -> list[dataclasses.Field]:
    """Returns the flags of a recipe's `Config` that can name the corpus.

    They are in the order in which a run is named after them.
    """
    found = [x for x in dataclasses.fields(kind) if "corpus" in x.metadata]
    return sorted(found, key=lambda x: _RANKS[x.metadata["corpus"]])


def find_given_corpora(
    config: RunConfig, but_the_presets: bool = False
) -> list[dataclasses.Field]:
    """Returns the flags that name another corpus than the preset's.

    Args:
        config: The recipe's config.
        but_the_presets: Leaves out those that say where the preset's own is.
    """
    preset = _get_preset_flags(config)
    return [
        x
        for x in corpus_flags(type(config))
        if getattr(config, x.name) not in (preset[x.name], None, "files", [])
        and not (but_the_presets and x.metadata.get("of_preset"))
    ]


def check_corpus(config):
    """Raises a ValueError if flags of the corpus do not go together."""
    given = find_given_corpora(config)
    kinds = [x.metadata["corpus"] for x in given]
    # The folder of a dataset may be given beside it.
    beside = "place" if kinds[:1] in (["dataset"], ["place"]) else None
    if any(x != beside for x in kinds[1:]):
        *first, last = (f"--{x.name}" for x in corpus_flags(type(config)))
        raise ValueError(
            f"Only one of {', '.join(first)} and {last} can name the corpus. "
            f"Received: --{', --'.join(x.name for x in given)}."
        )
    check_needed(config, "train", ("validation", "test"))


def check_needed(config, corpus, names):
    """Raises a ValueError if one of some flags is given without a corpus.

    Args:
        config: The recipe's config.
        corpus: Name of the flag of the corpus.
        names: Names of the flags that need it.
    """
    for name in names:
        is_given = getattr(config, name) not in (None, [], False)
        if is_given and getattr(config, corpus) is None:
            raise ValueError(f"--{name} needs --{corpus} as well.")


def _readable(value, corpus="file"):
    """Returns a name for a folder, made of the value of a flag."""
    value = value[0] if isinstance(value, list) else value
    if corpus != "dataset":
        value = os.path.basename(os.path.abspath(value))
    if corpus == "file":
        stem, extension = os.path.splitext(value.removesuffix(".gz"))
        value = stem or extension
    return re.sub(r"[^\w.+-]+", "-", value).strip(".-")[:60]


# === Systems ===


def name_of(config: RunConfig, kind: str) -> str:
    """Returns the name of a system.

    It is its name in `--systems`, followed by the parts that differ from the
    preset, as in `copynet_pointer_generator_head`. A flag that `is_name`
    replaces the name.

    Args:
        config: The recipe's config.
        kind: One of its `--systems`.
    """
    own, name = _get_preset_flags(config), kind
    parts = [x for x in dataclasses.fields(config) if "is_part" in x.metadata]
    for field in sorted(parts, key=lambda x: "is_name" not in x.metadata):
        value = getattr(config, field.name)
        lacks = field.name == "head" and kind in config.plain
        if value == own[field.name] or lacks or kind in config.untrained:
            continue
        words = [_readable(str(value).rpartition(":")[2]), field.name]
        if value is True:
            words = [field.name]
        is_name = "is_name" in field.metadata
        name = words[0] if is_name else "_".join([name, *words])
    return name


def head_for_kind(config: RunConfig, kind: str) -> str:
    """Returns the head of one of `--systems`: baselines generate all words."""
    return "softmax" if kind in config.plain else config.head


def config_for_system(config: RunConfig, name: str):
    """Returns the config of a system: `baseline_X` replaces a baseline's X."""
    if not any(f"{name}_".startswith(f"{x}_") for x in config.baselines):
        return config
    given = {
        field.name.removeprefix(_BASELINE): getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.name.startswith(_BASELINE)
    }
    return dataclasses.replace(
        config, **{k: value for k, value in given.items() if value is not None}
    )


# === Columns of the tables of results ===

# Of each its title and the name of its figure.
TRANSLATION_SCORES = {"BLEU": "bleu", "chrF": "chrf"}
TIME = {"updates": "updates", "seconds": "seconds_training"}
SIZE_AND_TIME = {"weights": "parameters", **TIME}
