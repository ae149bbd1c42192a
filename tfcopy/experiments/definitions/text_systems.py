"""Systems of texts whose words are looked up: inputs, training, answers."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from tfcopy import training
from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
    Definitions,
    TextBatches,
    count_characters,
    word_vectors,
)
from tfcopy.data.definitions.text_batches import TextShapes
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments import training_choices
from tfcopy.experiments.config import config_for_system, from_flags
from tfcopy.experiments.definitions import definition_flags
from tfcopy.experiments.definitions.definition_data import (
    NUM_SPECIALS,
    DefinitionData,
    definition_vocabulary,
)
from tfcopy.experiments.run import Run, System
from tfcopy.layers import DefinitionEmbedding, ForwardLSTM, RecurrentReader
from tfcopy.serving.servables.text_model import TextModel

_NUM_CHARACTERS = 1_000  # that the spelling reader knows
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
    sources: definition_flags.WordSources,
    data: DefinitionData,
    make_model: Callable,
    kind: type[TextModel],
    *,
    examples=None,
    finish: Callable | None = None,
) -> TextSystem:
    """Builds a system of a run, as `Run.build` does.

    Args:
        run: The run.
        name: The system's name.
        sources: Where it gets the vectors of words from.
        data: The corpus and what its words mean.
        make_model: Function of `models` that is called with the layer
            `embedding`, the options of all LSTMs, and flags.
        kind: Class of the servable, whose own options are flags.
        examples: Texts that an export is asked first; by default the data's.
        finish: As in `TextBatches`, with the features as first argument.
    """
    config: definition_flags.DefinitionsConfig = config_for_system(
        run.config, name
    )
    begin, end = kind.marks
    features = make_features(config, sources, data, begin=begin, end=end)

    def model():
        options, reader = lstm_options(config), None
        if sources.shares_reader:
            lstm = ForwardLSTM(config.units, **options, name="lstm")
            options["lstm"], reader = lstm, RecurrentReader(lstm)
        embedding = word_embedding(config, sources, data, features, reader)
        # There may be fewer words.
        size = features.vocabulary.size
        flags = dataclasses.replace(config, vocabulary_size=size)
        return from_flags(make_model, flags, embedding=embedding, **options)

    def serve(model):
        # Requests bring definitions that are text, or none.
        is_text = sources.reads == "definitions"
        return from_flags(
            kind,
            config,
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
    examples = data.examples if examples is None else examples
    system = run.build(name, model, serve, examples, more_identity=identity)
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
    batching = from_flags(training_choices.Batching, system.config)
    batching = batching.cap(system.model, len(data.train))
    seed, limit = batching.seed, batching.limit()
    compiled = training_choices.is_compiled(system.config.xla, system.model)
    if compiled:
        limit = batching.limit(_longest_texts(data.train))
        _choose_shapes(text_system.batches, data.train, limit, seed)
    make = functools.partial(
        text_system.batches.train, data.train, limit, shuffle_seed=seed
    )
    trainer = training_choices.make_trainer(
        system,
        loss,
        training_choices.make_trainer_data(make),
        text_system.batches.evaluation(data.validation, batching.batch_size),
        batches=batching.depend_on(compiled),
        **options,
    )
    result = trainer.fit()
    score = options.get("score", "perplexity")
    dev = result.best_dev_score
    table = system.model.get_layer("embedding").word_table.embeddings
    training_choices.log_tables(
        system, {"words": (table, features.vocabulary.words)}
    )
    return trainer, {
        **training_choices.summarize_result(system, result),
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
    batches.shapes = TextShapes(some.take(_SAMPLE), training_choices.MAX_SHAPES)
    print(
        f"XLA compiles at most {len(batches.shapes.classes)} shapes of "
        f"batches; {batches.shapes.share:.0%} of their cells are used"
    )


def predict(
    trainer: training.Trainer, text_system: TextSystem, texts: WordTexts
):
    """Returns an iterator over batches and the model's output for each."""
    batch_size = text_system.system.config.batch_size
    return trainer.predict(text_system.batches.evaluation(texts, batch_size))


# === The inputs of a system ===


def word_embedding(
    config: definition_flags.DefinitionsConfig,
    sources: definition_flags.WordSources,
    data: DefinitionData,
    features: DefinitionFeatures,
    reader: keras.Layer | None = None,
) -> DefinitionEmbedding:
    """Builds the embedding of a system, a layer named `embedding`.

    Args:
        config: The config of the system.
        sources: Where it gets the vectors of words from.
        data: The corpus and what its words mean.
        features: The system's features, from `make_features`.
        reader: The layer that reads definitions, if it is not the one that
            the `sources` name.
    """
    dim = config.embedding_dim
    fixed = definition_vectors = definition_size = None
    if sources.fixed:
        dim = config.vectors_dim
        fixed = data.vectors_of(features.vocabulary)
    if sources.reads is not None:
        words = features.packer.vocabulary
        if sources.reads == "vector":
            definition_vectors = data.vectors_of(words)
        elif words is not features.vocabulary:
            definition_size = words.size
        reader = reader or sources.reader
    spelling = None
    if sources.spelling:
        spelling = {"characters": features.characters.size, "units": dim}
    options = lstm_options(config)
    return DefinitionEmbedding(
        features.vocabulary.size,
        dim,
        reader=reader,
        definition_vocabulary_size=definition_size,
        spelling=spelling,
        combine=sources.combine if sources.reads_more else "sum",
        stop_gradient=sources.stop_gradient,
        dropout=config.embedding_dropout,
        embeddings=fixed,
        definition_embeddings=definition_vectors,
        embeddings_initializer=_embeddings_initializer(config),
        kernel_initializer=options["kernel_initializer"],
        recurrent_initializer=options["recurrent_initializer"],
        seed=config.seed,
        name="embedding",
    )


def _embeddings_initializer(config):
    if config.initializers == "keras":
        return keras.initializers.RandomNormal(stddev=1.0)
    return keras.initializers.get(config.initializers)


def lstm_options(config: definition_flags.DefinitionsConfig) -> dict:
    """Returns the initializers of LSTMs: Keras's, or one for all."""
    if config.initializers == "keras":
        return {
            "kernel_initializer": "glorot_uniform",
            "recurrent_initializer": "orthogonal",
            "unit_forget_bias": True,
        }
    return {
        "kernel_initializer": config.initializers,
        "recurrent_initializer": config.initializers,
        "unit_forget_bias": False,
    }


def make_features(
    config: definition_flags.DefinitionsConfig,
    sources: definition_flags.WordSources,
    data: DefinitionData,
    **options,
) -> DefinitionFeatures:
    """Builds the features that make the inputs of a system's model.

    Args:
        config: The config of the system.
        sources: Where it gets the vectors of words from.
        data: The corpus and what its words mean.
        **options: More arguments of `DefinitionFeatures`.
    """
    # Without such a flag all words of the vocabulary are known.
    exclude_top_k = vars(config).get("exclude_top_k", -1)
    characters = lookup = packer = None
    if sources.fixed:
        text = Vocabulary.build(dict.fromkeys(data.words, 1))
    else:
        text = Vocabulary.build(data.counts, config.vocabulary_size)
    if sources.spelling or sources.reads == "spellings":
        size = _NUM_CHARACTERS + NUM_SPECIALS
        characters = Vocabulary.build(count_characters(data.counts), size)
    if sources.reads is not None:
        definitions, words = _what_is_read(
            config, sources.reads, data, text, characters
        )
        lookup = data.lookup
        if sources.reads == "vector":
            lookup = DefinitionLookup(definitions, lemmas=False)
        packer = DefinitionPacker(
            definitions,
            words,
            layout="padded" if sources.reader == "lstm" else "flat",
            max_definitions=config.max_definitions,
            max_length=config.max_definition_length,
            exclude_top_k=exclude_top_k,
        )
    return DefinitionFeatures(
        text,
        lookup=lookup,
        packer=packer,
        characters=characters if sources.spelling else None,
        exclude_top_k=exclude_top_k,
        **options,
    )


def _what_is_read(config, reads, data, text, characters):
    """Returns the `Definitions`, and the `Vocabulary` of their words."""
    if reads == "vector":
        return _vectors_as_definitions(data, text)
    if reads == "headwords":
        return _rewrite(data.definitions, str.split), text
    if reads == "spellings":
        return _rewrite(data.definitions, _letters), characters
    if config.definition_vocabulary_size is None:
        return data.definitions, text
    words = definition_vocabulary(data, config.definition_vocabulary_size)
    return data.definitions, words


def _vectors_as_definitions(data, text):
    """Defines each unknown word that has a vector by itself."""
    others = [x for x in data.words if x and x not in text]
    words = Vocabulary.build(dict.fromkeys(others, 1))
    rows = np.flatnonzero(data.vectors_of(words).any(axis=1))
    headwords = tuple(words.word(i) for i in rows if i >= NUM_SPECIALS)
    return Definitions(headwords, tuple(((x,),) for x in headwords)), words


def _rewrite(definitions: Definitions, read: Callable) -> Definitions:
    """Definitions of the same headwords, rewritten by a function.

    Args:
        definitions: The dictionary.
        read: Function of a headword that returns the words of its definition.
    """
    return dataclasses.replace(
        definitions,
        definitions=tuple(
            (tuple(read(word)),) for word in definitions.headwords
        ),
        parts_of_speech=(),
    )


def _letters(word):
    return [letter for letter in word if not letter.isspace()]
