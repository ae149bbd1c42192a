"""Systems of pairs of texts: how they are trained, and how they answer."""

import itertools

import tensorflow as tf

from tfcopy import losses, tokens, training
from tfcopy.data.pairs import pipeline
from tfcopy.decoding import SearchOptions
from tfcopy.experiments import reporting
from tfcopy.experiments.config import config_for_system, from_flags
from tfcopy.experiments.pairs.model_flags import PairsConfig
from tfcopy.experiments.pairs.pair_data import as_text
from tfcopy.experiments.run import System
from tfcopy.experiments.training_choices import (
    MAX_SHAPES,
    Batching,
    is_compiled,
    log_word_embeddings,
    make_trainer,
    make_trainer_data,
    summarize_result,
)
from tfcopy.layers import copying
from tfcopy.runtime.translation_records import iter_examples, read_translations
from tfcopy.serving.servables.translator import Translator

# Tensors of a batch that losses read.
BATCH = ("source_ids", "source_copy_ids", "target_ids", "pointers")


def train(system: System, data, loss, **options):
    """Trains a system, or resumes its training.

    Args:
        system: `System`.
        data: `PairData`.
        loss: A loss of `losses`.
        **options: `change`, dict of functions of a dataset of batches to
            another, for `train` and `dev`; `restricted`, the vocabulary's
            size, if batches have `candidate_ids`; more arguments of
            `training.Trainer`.

    Returns:
        `(trainer, result, results)`: the `Trainer`, the result of `fit`, and
        the system's part of results.json.
    """
    config: PairsConfig = system.config
    batching = from_flags(Batching, config)
    batching = batching.cap(system.trained, len(data.train))
    change = options.pop("change", {})
    penalties = [options.pop("penalty", None)]
    if data.train.alignment is not None:
        penalties.append(losses.GuidedAlignment(config.guided_alignment_weight))
    penalty = losses.total([x for x in penalties if x is not None])
    if config.label_smoothing:
        loss = losses.LabelSmoothing(loss, config.label_smoothing)
    if size := options.pop("restricted", None):
        loss = losses.restrict_loss(loss, size)
        penalty = penalty and losses.restrict_loss(penalty, size)
    shapes, compiled = None, is_compiled(config.xla, system.trained)
    if compiled:
        shapes = choose_compiled_shapes(batching, data)
    dev = dev_batches(batching, data, shapes)
    trainer = make_trainer(
        system,
        loss,
        train_batches(batching, data.train, change.get("train"), shapes),
        change["dev"](dev) if change else dev,
        on_eval=SamplePictures(system.served, data.corpus.validation),
        penalty=penalty,
        batches=batching.depend_on(compiled),
        **options,
    )
    result = trainer.fit()
    log_word_embeddings(system, data.vocabularies)
    return (
        trainer,
        result,
        {
            **summarize_result(system, result),
            "perplexity": result.best_dev_perplexity,
            "seconds_training": round(result.seconds, 1),
            "target_tokens_per_second": round(result.targets_per_second),
            "history": reporting.history(result, data.validation),
        },
    )


def choose_compiled_shapes(batching: Batching, data) -> list[tuple[int, int]]:
    """Chooses few shapes for all batches, to compile each; prints them."""
    train, validation = data.train, data.validation
    if batching.batch_tokens is None:
        rows = _training_rows(batching, train)
        lengths = pipeline.batch_lengths(train, rows)
        dev = pipeline.evaluation_rows(validation, batching.batch_size)
        lengths += pipeline.batch_lengths(validation, dev)
    else:  # Pairs are put into batches by their shapes.
        lengths = list(zip(train.source_lengths, train.target_lengths))
    shapes = pipeline.choose_shapes(
        # Another epoch may hold what this one has left out.
        [*lengths, train.longest],
        MAX_SHAPES,
    )
    words, cells = 0, 0
    rows = _training_rows(batching, train, shapes)
    for batch_rows, longest in zip(rows, pipeline.batch_lengths(train, rows)):
        batch_shapes = shapes
        if batching.batch_tokens is not None:
            batch_shapes = batching.limit(shapes).shapes_with(len(batch_rows))
        cells += len(batch_rows) * sum(
            pipeline.shape_for(longest, batch_shapes)
        )
        words += train.source_lengths[batch_rows].sum()
        words += train.target_lengths[batch_rows].sum()
    print(
        f"XLA compiles {len(shapes)} shapes of batches, source and target: "
        + ", ".join(f"{s} x {t}" for s, t in shapes)
        + f"; {words / cells:.0%} of their cells are words"
    )
    return shapes


def _training_rows(batching, encoded, shapes=None):
    """Returns the pairs of each batch of the first epoch."""
    return pipeline.training_rows(
        encoded,
        batching.limit(shapes),
        seed=batching.seed,
        pool_batches=batching.pool_batches,
    )


def dev_batches(batching: Batching, data, shapes=None) -> tf.data.Dataset:
    """Returns the validation set, in batches that a loss can take."""
    if shapes is not None and batching.batch_tokens is not None:
        # It may hold longer pairs than the shapes that tokens are limited by.
        shapes = [*shapes, data.validation.longest]
    return pipeline.evaluation_batches(
        data.validation, batching.batch_size, shapes=shapes
    ).map(lambda batch: {name: batch[name] for name in BATCH})


def train_batches(batching: Batching, encoded, change=None, shapes=None):
    """Returns the training data in the form that `Trainer` takes.

    Args:
        batching: `Batching`.
        encoded: `EncodedCorpus`.
        change: Function of a dataset of batches to another, or `None`.
        shapes: As in `pipeline.batches`.
    """

    def make(epoch, **place):
        dataset = pipeline.batches(
            encoded.select_epoch(epoch),
            batching.limit(shapes),
            shuffle_seed=batching.seed,
            epoch=epoch,
            pool_batches=batching.pool_batches,
            shapes=shapes,
            **place,
        )
        return dataset if change is None else change(dataset)

    return make_trainer_data(make)


def build(run, name, data, make_model, search, own=dict, **options) -> System:
    """Builds a system of a run, text in and text out.

    Args:
        run: `Run` of a `PairsConfig`.
        name: The name of the system and of its folder.
        data: `PairData`.
        make_model: Function of the system's own config that returns the model.
        search: As in `make_translator`.
        own: Function that returns `more` of `make_translator`, called when a
            system's folder is checked.
        **options: More arguments of `Run.build`.
    """
    config: PairsConfig = config_for_system(run.config, name)
    return run.build(
        name,
        lambda: make_model(config),
        lambda model: make_translator(config, model, data, search, **own()),
        pairs=data.test,
        **{"warmup_texts": data.examples} | options,
    )


def make_translator(
    config: PairsConfig, model, data, search, **more
) -> Translator:
    """Builds a `Translator` with the vocabularies of a corpus.

    Args:
        config: The flags of `SearchOptions` and --replace_unk.
        model: The Keras model.
        data: `PairData`.
        search: Dict of further arguments of `SearchOptions`, a system's own.
        **more: More arguments of `Translator`.
    """
    return Translator(
        model,
        *data.vocabularies,
        source_tokenizer=data.tokenizers[0],
        target_tokenizer=data.tokenizers[1],
        options=from_flags(SearchOptions, config, **search),
        replace_unk=config.replace_unk,
        litert=config.litert,
        usual_length=data.train.longest[0],
        **more,
    )


# === Metrics beside the loss ===


def mean_over_targets(values, batch):
    """Computes the mean of `(B, T)` values over the targets' words."""
    mask = tf.cast(batch["target_ids"] != tokens.PAD, tf.float32)
    return tf.reduce_sum(values * mask) / tf.reduce_sum(mask)


def copy_probability(batch, distribution):
    """Computes the mean probability to copy a word."""
    copied = copying.copied_mass(distribution)
    return {"copy_probability": mean_over_targets(copied, batch)}


def measure_labelled_copies(batch, distribution):
    """Computes the share of words labelled as copies, and its probability."""
    labelled = tf.cast(batch["pointers"] != tokens.GENERATE, tf.float32)
    return {
        "copied_words": mean_over_targets(labelled, batch),
        **copy_probability(batch, distribution),
    }


class SamplePictures:
    """Draws the attention of a few answers, and writes them as text.

    Args:
        translator: The `Translator` of the model that trains.
        pairs: Iterable of (source, target) pairs.
        count: Number of sentences.
    """

    def __init__(self, translator, pairs, count=4):
        self.translator = translator
        self.pairs = list(itertools.islice(pairs, count))

    def __call__(self, update, writer):
        texts = [as_text(pair[0]) for pair in self.pairs]
        outputs = self.translator.analyse(tf.constant(texts))
        outputs = {name: value.numpy() for name, value in outputs.items()}
        examples = []
        for i, row in enumerate(iter_examples(outputs, len(texts))):
            best = read_translations(row, 1)[0]
            copied = [place >= 0 for place in best.copied_from]
            reference = as_text(self.pairs[i][1]).split()
            examples.append((texts[i].split(), best.tokens, copied, reference))
            if reporting.figures is not None and best.tokens:
                pieces = self.translator.config["pieces"]
                picture = _picture(best, row["attention"][0], pieces)
                with writer.as_default(update):
                    tf.summary.image(f"attention/{i}", picture)
        training.log_examples(writer, update, examples)


def _picture(best, attention, pieces):
    source, words = best.source_tokens, best.tokens
    shown = reporting.figures.join_pieces(
        reporting.figures.DisplayedTranslation(
            words,
            source,
            best.copied_from,
            best.generate_probs,
            attention[: len(words), : len(source)],
        ),
        pieces,
    )
    return reporting.figures.attention_figure(
        shown.source,
        shown.words,
        shown.attention,
        shown.copied_from,
        # It is 1 in a model without a switch.
        generate_probability=(
            shown.generate if min(shown.generate) < 1 else None
        ),
    )
