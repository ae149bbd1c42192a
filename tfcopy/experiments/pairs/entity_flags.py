"""Checks of the flags of headlines whose entities can be pointed at."""

from tfcopy.data.corpora import gigaword
from tfcopy.data.text.entities import EXCEPTIONS, PATTERN, Entities
from tfcopy.experiments import flag_checks
from tfcopy.experiments.pairs import pointer_softmax_steps, summary_corpora
from tfcopy.experiments.pairs.corpus_flags import EntitiesConfig

NO_SPELLING = (
    "pointers to unknown words need their spelling. Give the text before rare "
    "words were replaced, choose --pointers entity, or train the baseline "
    "alone with --systems nmt_lvt"
)


def check(config: EntitiesConfig, points):
    """Raises a ValueError that names a flag which makes no sense.

    Args:
        config: The flags.
        points: Whether a system points at words.
    """
    pointer_softmax_steps.check(config)
    summary_corpora.check(config)
    summary_corpora.check_one_corpus(
        {
            "--train": config.train,
            "--prepared": config.prepared,
            "--tfds": config.tfds,
        }
    )
    own = config.train or config.prepared or config.tfds
    if config.preset == "paper" and not own:
        raise ValueError(
            "The paper's corpus, annotated Gigaword, is licensed (LDC2012T21) "
            "and not fetched. Give first sentences and headlines as --train "
            "a.src a.tgt, or --tfds gigaword."
        )
    name = (config.tfds or "").partition(":")[0]
    if name == gigaword.NAME and points and config.pointers == "unk":
        raise ValueError(
            "--tfds gigaword: its rare words are UNK already, and "
            f"{NO_SPELLING}."
        )
    if name == gigaword.NAME and make_entities(config) == Entities():
        raise ValueError(
            "--tfds gigaword: it is in lower case, so no name has the capital "
            "by which --pointers entity recognises it. Give an "
            "--entity_pattern, or files with --train_tags."
        )
    _check_entity_flags(config)
    make_entities(config)


def _check_entity_flags(config):
    """Raises a ValueError if flags of entity pointers make no sense."""
    rules = {
        "--entity_pattern": config.entity_pattern,
        "--entity_exceptions": config.entity_exceptions,
        "--entity_truecase": config.entity_truecase or None,
    }
    splits = {
        "train": (config.train, config.train_tags),
        "validation": (config.validation, config.validation_tags),
        "test": (config.test, config.test_tags),
    }
    tags = {f"--{split}_tags": tags for split, (_, tags) in splits.items()}
    for flag, value in (tags | rules).items():
        if value is not None and config.pointers != "entity":
            raise ValueError(f"{flag} needs --pointers entity.")
    for split, (files, some) in splits.items():
        if some is not None and files is None:
            raise ValueError(f"--{split}_tags needs --{split} as well.")
        if config.train_tags is not None and files is not None and some is None:
            raise ValueError(
                f"--{split} needs --{split}_tags, as --train has tags."
            )
        if some is not None and config.train_tags is None:
            raise ValueError(f"--{split}_tags needs --train_tags as well.")
    if config.train_tags is None:
        return
    if config.tokenization != "space":
        raise ValueError(
            "--train_tags needs --tokenization space: tags belong to tokens "
            "between blanks."
        )
    given = [flag for flag, value in rules.items() if value is not None]
    if given:
        raise ValueError(
            "Entities are either tagged or matched by a pattern. Received: "
            f"--train_tags and {', '.join(given)}."
        )


def make_entities(config: EntitiesConfig):
    """`Entities` as the flags ask for, or `None`."""
    if config.pointers == "unk":
        return None
    given = {
        "pattern": (config.entity_pattern, PATTERN),
        "exceptions": (config.entity_exceptions, EXCEPTIONS),
    }
    chosen = {
        k: default if x is None else x for k, (x, default) in given.items()
    }
    if config.train_tags is not None:
        chosen["pattern"] = None
    try:
        return Entities(**chosen, lowercase=config.lowercase)
    except ValueError as error:
        flags = {name: f"entity_{name}" for name in given}
        raise flag_checks.naming_flags(error, flags) from error
