"""Systems of texts whose words are looked up: training, answers, serving."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tfcopy import training
from tfcopy.data.definitions import (
    DefinitionFeatures,
    TextBatches,
    word_vectors,
)
from tfcopy.data.definitions.text_batches import TextShapes
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments import flag_checks, projector_tables, training_choices
from tfcopy.experiments.config import trainer_options
from tfcopy.experiments.definitions.definition_data import (
    DefinitionData,
    vectors_of,
)
from tfcopy.experiments.definitions.definition_flags import (
    DefinitionsConfig,
    WordSources,
)
from tfcopy.experiments.run import Run, System
from tfcopy.experiments.training_choices import (
    MAX_SHAPES,
    batch_limit,
    batches_depend_on,
    capped,
    is_compiled,
)

# Batches from which the shapes that XLA compiles for are chosen.
_SAMPLE = 300
# Lengths of texts by which `--batch_tokens` then chooses their examples.
_NUM_LENGTHS = 4


@dataclasses.dataclass(frozen=True)
class TextSystem:
    """A system of a run, and what makes its batches.

    Attributes:
        system: The system, whose model has a layer `embedding`.
        features: What makes the model's inputs.
        batches: The batches of such inputs.
    """

    system: System
    features: DefinitionFeatures
    batches: TextBatches

    @property
    def model(self) -> Any:
        """The Keras model."""
        return self.system.model


class Parts(NamedTuple):
    """What a system of texts is made of, beside its model.

    Attributes:
        config: The config of the system.
        sources: Where it gets the vectors of words from.
        features: What makes the model's inputs.
        data: The corpus and what its words mean.
    """

    config: DefinitionsConfig
    sources: WordSources
    features: DefinitionFeatures
    data: DefinitionData


def build(
    run: Run,
    name: str,
    parts: Parts,
    make_model: Callable,
    make_served: Callable,
    *,
    examples=None,
    finish: Callable | None = None,
) -> TextSystem:
    """Builds a system of a run, as `Run.build` does.

    Args:
        run: The run.
        name: The system's name.
        parts: What it is made of.
        make_model: Function without arguments that gives the model, which has
            a layer `embedding`.
        make_served: Function of the arguments that all `TextModel`s have, by
            name, to what is exported.
        examples: Texts that an export is asked first; by default the data's.
        finish: As in `TextBatches`.
    """
    _, _, features, data = parts
    system = run.build(
        name,
        make_model,
        lambda model: make_served(**_served_arguments(model, parts)),
        data.examples if examples is None else examples,
        more_identity=_identity(parts),
    )
    batches = TextBatches(features, data.words, finish)
    return TextSystem(system, features, batches)


def _served_arguments(model, parts):
    """The arguments that all `TextModel`s have, by name."""
    _, sources, features, data = parts
    # Requests bring definitions that are text, or none.
    is_text = sources.reads == "definitions"
    return {
        "model": model,
        "embedding": model.get_layer("embedding"),
        "features": features,
        "tokenizer": data.tokenizer,
        "definitions": features.packer and features.packer.definitions,
        "definition_tokenizer": Tokenizer() if is_text else None,
    }


def _identity(parts):
    """What of its words must stay the same when training is resumed."""
    config, sources, features, data = parts
    words = {"vocabulary": features.vocabulary.fingerprint}
    if not sources.needs_vectors:
        return words
    known = features.vocabulary if sources.fixed else features.packer.vocabulary
    vectors = vectors_of(known, config, data)
    return words | {"vectors": word_vectors.checksum(vectors)}


def train(
    text_system: TextSystem, data: DefinitionData, loss: Callable, **options
):
    """Trains a system, or resumes its training.

    Args:
        text_system: The system.
        data: The texts.
        loss: A loss of `losses`.
        **options: More arguments of `training.Trainer`.

    Returns:
        `(trainer, results)`: the `Trainer`, and the system's part of
        results.json.
    """
    system, features = text_system.system, text_system.features
    config = capped(system.config, system.model, len(data.train))
    optimizer = options.pop("optimizer", None)
    if optimizer is None:
        optimizer = training_choices.make_optimizer(
            config, system.model, config.updates
        )
    limit, compiled = batch_limit(config), is_compiled(config, system.model)
    if compiled:
        limit = batch_limit(config, shapes=_longest_texts(data.train))
        _choose_shapes(text_system.batches, data.train, limit, config.seed)
    trainer = training.Trainer(
        system.model,
        loss,
        optimizer,
        _train_batches(text_system.batches, data.train, limit, config.seed),
        text_system.batches.evaluation(data.validation, config.batch_size),
        system.folder,
        steps=config.updates,
        **trainer_options(config),
        identity=system.identity,
        batches=batches_depend_on(config, compiled),
        **options,
    )
    result = trainer.fit()
    score = options.get("score", "perplexity")
    dev = result.best_dev_score
    table = system.model.get_layer("embedding").word_table.embeddings
    projector_tables.log_tables(
        system, {"words": (table, features.vocabulary.words)}
    )
    return trainer, {
        "parameters": system.num_parameters,
        "updates": result.updates,
        **training_choices.averaged(config, result),
        f"dev_{score}": result.best_dev_perplexity if dev is None else dev,
        "seconds_training": round(result.seconds, 1),
        "per_second": round(result.targets_per_second),
    }


def _longest_texts(texts):
    """Few lengths, which are reached by equally many examples each."""
    lengths = texts.lengths
    longest = np.maximum.reduce(lengths)
    shares = np.linspace(0, 1, _NUM_LENGTHS + 1)[1:]
    found = np.unique(np.quantile(longest, shares, method="higher"))
    return tuple((int(length),) * len(lengths) for length in found)


def _choose_shapes(batches, texts, limit, seed):
    """Pads all batches to few shapes from now on; says how many."""
    some = batches.train(texts, limit, shuffle_seed=seed)
    batches.shapes = TextShapes(some.take(_SAMPLE), MAX_SHAPES)
    print(
        f"XLA compiles at most {len(batches.shapes.classes)} shapes of "
        f"batches; {batches.shapes.share:.0%} of their cells are used"
    )


def _train_batches(batches, texts, limit, seed):
    """The training data as `Trainer` wants it."""

    def train_data(epoch, start_batch, context):
        replicas = context.num_replicas_in_sync
        with flag_checks.naming_batch_tokens():
            return batches.train(
                texts,
                limit,
                shuffle_seed=seed,
                epoch=epoch,
                start_batch=start_batch // replicas,
                num_replicas=replicas,
            )

    return train_data


def predict(
    trainer: training.Trainer, text_system: TextSystem, texts: WordTexts
):
    """An iterator over batches, in order, and the model's output for each."""
    batch_size = text_system.system.config.batch_size
    return trainer.predict(text_system.batches.evaluation(texts, batch_size))
