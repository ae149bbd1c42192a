"""Systems of texts whose words are looked up: training, answers, serving."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

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
from tfcopy.experiments import flag_checks
from tfcopy.experiments.config import from_flags, of_system
from tfcopy.experiments.definitions import definition_features
from tfcopy.experiments.definitions.definition_data import DefinitionData
from tfcopy.experiments.definitions.definition_features import (
    lstm_options,
    make_features,
)
from tfcopy.experiments.definitions.definition_flags import (
    DefinitionsConfig,
    WordSources,
)
from tfcopy.experiments.run import Run, System
from tfcopy.experiments.training_choices import (
    MAX_SHAPES,
    Batching,
    is_compiled,
    log_tables,
    make_trainer,
    reported,
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
        """Returns the Keras model."""
        return self.system.model


def build(
    run: Run,
    name: str,
    sources: WordSources,
    data: DefinitionData,
    make_model: Callable,
    make_served: Callable,
    *,
    examples=None,
    finish: Callable | None = None,
    **options,
) -> TextSystem:
    """Builds a system of a run, as `Run.build` does.

    Args:
        run: The run.
        name: The system's name.
        sources: Where it gets the vectors of words from.
        data: The corpus and what its words mean.
        make_model: Function of the system's own config, of a function that
            makes the layer `embedding`, given a reader or not, and of the
            options of all LSTMs. It returns the model.
        make_served: Function of the arguments that all `TextModel`s have, by
            name, that returns the servable.
        examples: Texts that an export is asked first; by default the data's.
        finish: As in `TextBatches`, with the features as first argument.
        **options: More arguments of `make_features`.
    """
    config: DefinitionsConfig = of_system(run.config, name)
    features = make_features(config, sources, data, **options)

    def make_embedding(reader=None):
        return definition_features.make_embedding(
            config, sources, data, features, reader
        )

    def serve(model):
        # Requests bring definitions that are text, or none.
        is_text = sources.reads == "definitions"
        return make_served(
            model=model,
            embedding=model.get_layer("embedding"),
            features=features,
            tokenizer=data.tokenizer,
            definitions=features.packer and features.packer.definitions,
            definition_tokenizer=Tokenizer() if is_text else None,
        )

    # What of its words must stay the same when training is resumed.
    identity = {"vocabulary": features.vocabulary.fingerprint}
    if sources.needs_vectors:
        known = features if sources.fixed else features.packer
        vectors = data.vectors_of(known.vocabulary)
        identity["vectors"] = word_vectors.checksum(vectors)
    system = run.build(
        name,
        lambda: make_model(config, make_embedding, lstm_options(config)),
        serve,
        data.examples if examples is None else examples,
        more_identity=identity,
    )
    finish = finish and functools.partial(finish, features)
    batches = TextBatches(features, data.words, finish)
    return TextSystem(system, features, batches)


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
    batching = from_flags(Batching, system.config)
    batching = batching.capped(system.model, len(data.train))
    seed, limit = batching.seed, batching.limit()
    compiled = is_compiled(system.config.xla, system.model)
    if compiled:
        limit = batching.limit(_longest_texts(data.train))
        _choose_shapes(text_system.batches, data.train, limit, seed)
    trainer = make_trainer(
        system,
        loss,
        _train_batches(text_system.batches, data.train, limit, seed),
        text_system.batches.evaluation(data.validation, batching.batch_size),
        batches=batching.depend_on(compiled),
        **options,
    )
    result = trainer.fit()
    score = options.get("score", "perplexity")
    dev = result.best_dev_score
    table = system.model.get_layer("embedding").word_table.embeddings
    log_tables(system, {"words": (table, features.vocabulary.words)})
    return trainer, {
        **reported(system, result),
        f"dev_{score}": result.best_dev_perplexity if dev is None else dev,
        "seconds_training": round(result.seconds, 1),
        "per_second": round(result.targets_per_second),
    }


def _longest_texts(texts):
    """Returns a few lengths that equally many examples reach."""
    lengths = texts.lengths
    longest = np.maximum.reduce(lengths)
    shares = np.linspace(0, 1, _NUM_LENGTHS + 1)[1:]
    found = np.unique(np.quantile(longest, shares, method="higher"))
    return tuple((int(length),) * len(lengths) for length in found)


def _choose_shapes(batches, texts, limit, seed):
    """Pads all batches to few shapes from now on, and prints their number."""
    some = batches.train(texts, limit, shuffle_seed=seed)
    batches.shapes = TextShapes(some.take(_SAMPLE), MAX_SHAPES)
    print(
        f"XLA compiles at most {len(batches.shapes.classes)} shapes of "
        f"batches; {batches.shapes.share:.0%} of their cells are used"
    )


def _train_batches(batches, texts, limit, seed):
    """Returns the training data in the form that `Trainer` takes."""

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
    """Returns an iterator over batches and the model's output for each."""
    batch_size = text_system.system.config.batch_size
    return trainer.predict(text_system.batches.evaluation(texts, batch_size))
