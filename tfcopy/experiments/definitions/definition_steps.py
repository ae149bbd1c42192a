"""What recipes that read definitions do alike: start, train, export, report.

Functions, not a base class: a recipe calls those it needs.
"""

import dataclasses
import hashlib
import os

import keras

from tfcopy import training
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments import reporting, restoring, run_folder
from tfcopy.experiments.definitions import definition_demo


def begin(recipe, config, systems):
    """Checks what can be checked before anything is read.

    Args:
        recipe: Its name.
        config: The recipe's config.
        systems: Those that there are.

    Returns:
        `(folder, strategy)`: of the run; and of `tf.distribute`.
    """
    reporting.check_systems(config, systems)
    folder = os.path.join(config.log_dir, config.run or config.preset)
    run_folder.begin(recipe, config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    return folder, strategy


# Flags that a run may not change half-way; the sizes show in the weights.
FIXED = ("dropout", "embedding_dropout", "initializers", "seed", "optimizer")
FIXED += ("learning_rate", "schedule", "batch_size", "clip_norm", "precision")
FIXED += (
    "updates",
    "max_definitions",
    "max_definition_length",
    "depth",
    "phrases",
)


def train(config, name, built, data, folder, loss, **options):
    """Trains a system, or goes on training it; returns its results.

    Args:
        config: The recipe's config.
        name: Of the system.
        built: `Built`.
        data: `definition_data.Data`.
        folder: Of the run.
        loss: As of `Trainer`.
        options: More arguments of `Trainer`.

    Returns:
        `(trainer, results)`.
    """

    def train_data(epoch, start_batch, context):
        replicas = context.num_replicas_in_sync
        return built.batches.train(
            data.train,
            config.batch_size,
            shuffle_seed=config.seed,
            epoch=epoch,
            start_batch=start_batch // replicas,
            num_replicas=replicas,
        )

    log_dir = os.path.join(folder, name)
    trainer = training.Trainer(
        built.model,
        loss,
        options.pop("optimizer", None)
        or reporting.optimizer(config, config.updates),
        train_data,
        built.batches.evaluation(data.validation, config.batch_size),
        log_dir,
        steps=config.updates,
        clip_norm=config.clip_norm,
        eval_every=config.eval_every,
        patience=config.patience,
        seed=config.seed,
        fresh=config.fresh,
        identity={
            **identity(built, data),
            "system": name,
            **{f"--{flag}": getattr(config, flag) for flag in FIXED},
        },
        **options,
    )
    result = trainer.fit()
    log_embeddings(built.model, built.features, log_dir)
    return trainer, {
        "parameters": reporting.num_parameters(built.model),
        "updates": result.updates,
        "seconds_training": round(result.seconds, 1),
        "per_second": round(result.targets_per_second),
    }


def identity(built, data):
    """What must not change between a run and its resumption."""
    words = "\n".join(built.features.vocabulary.words).encode()
    digest = hashlib.sha256(words).hexdigest()[:16]
    return {**data.identity, "vocabulary": digest}


def log_embeddings(model, features, log_dir):
    """Writes the words' own embeddings for TensorBoard's projector."""
    table = model.get_layer("embedding").word_table.embeddings
    reporting.write_embeddings(
        log_dir,
        {
            "words": (
                keras.ops.convert_to_numpy(table),
                features.vocabulary.words,
            )
        },
    )


def finish(recipe, config, folder, watch, results, names, built, serve, **more):
    """Exports the best system, writes the results, says what to do next.

    Args:
        recipe: Its name.
        config: The recipe's config.
        folder: Of the run.
        watch: `common.Stopwatch`.
        results: System to its results.
        names: `(score, baseline, best)`: the score that tells which system is
            the best, and what `definition_demo.gap_closed` needs.
        built: System to its `Built`.
        serve: Function of a system's name to its `restored.Servable`.
        more: What else the report has.

    Returns:
        The report.
    """
    score, *ends = names
    lower = score == "perplexity"
    closed = {}
    if config.corpus == "demo":
        of_gap = "after_oov" if lower else score
        closed = definition_demo.gap_closed(results, *ends, of_gap)
        definition_demo.print_gap(closed, *ends)
    best = best_of(results, built, score, lower)
    servable = serve(best)
    path = restoring.export(
        servable, config.savedmodel_dir, **{score: results[best][score]}
    )
    report = {
        "recipe": recipe,
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "gap_closed": closed,
        **more,
        "savedmodel": path,
    }
    file = os.path.join(folder, "results.json")
    reporting.write_results(file, report, of_dev=())
    example = servable.warmup_texts[0]
    if len(example) == 1:
        (example,) = example.values()
    reporting.print_next_steps(
        recipe, folder, path, best, example, watch.seconds
    )
    return report


def load_weights(built, data, folder, checkpoint):
    """Gives a system's model the weights that it has been trained to.

    Args:
        built: `Built`.
        data: `definition_data.Data`.
        folder: Of the system.
        checkpoint: As of `restored.load_weights`.
    """
    fixed = identity(built, data)
    features = built.features
    # Another dictionary may be read, if its words need no vocabulary.
    if not features.packer or features.packer.vocabulary is features.vocabulary:
        fixed.pop("definitions", None)
    restoring.load_weights(built.model, folder, checkpoint, fixed)


def servable(kind, name, built, data, examples, **options):
    """What is exported of a system, with its weights as they are now.

    Args:
        kind: A class of `serving.TextModel`s.
        name: Of the system.
        built: `Built`.
        data: `definition_data.Data`.
        examples: Texts to warm up with, dicts by name.
        options: More arguments of `kind`.

    Returns:
        `restored.Servable`.
    """
    model, features = built.model, built.features
    definitions = tokenizer = None
    if features.packer is not None:
        definitions = features.packer.definitions
    if built.system.reads == "definitions":
        tokenizer = Tokenizer()
    served = kind(
        model,
        model.get_layer("embedding"),
        features,
        data.tokenizer,
        definitions,
        definition_tokenizer=tokenizer,
        **options,
    )
    return restoring.Servable(served, examples, {"system": name})


def best_of(results, built, score, lower_is_better=False):
    """The best system; of those that read definitions, if there are any."""
    reading = [x for x in results if built[x].system.reads == "definitions"]
    sign = -1 if lower_is_better else 1
    return max(reading or results, key=lambda x: sign * results[x][score])
