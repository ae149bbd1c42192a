"""Eulerian circuits with planners (Gulcehre et al., 2017; Dutil et al., 2017).

A graph is given by its edges in any order; the ring that two neighbours lie on
is to be told, node by node. Trains an attentional decoder (baseline), one that
plans its alignments (pag) and one that repeats them (rpag), counts the
circuits that are wholly right, draws where each looked and when it planned,
and exports the best one.

    python -m tfcopy.recipes.eulerian_pag                 small graphs, minutes
    python -m tfcopy.recipes.eulerian_pag --preset paper  the published sizes

Repeating a command that was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
from typing import Literal

from jsonargparse.typing import (
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
)

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet

# Percent of test graphs, of hidden size 360.
PAPER = {"baseline": {"exact_match": 90.4}, "pag": {"exact_match": 100.0}}


@dataclasses.dataclass(frozen=True)
class Config:
    """Graphs, models, training, search, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes the other fields started from.
        num_nodes: Nodes of the ring.
        num_distractors: Nodes beside it; 0 for none.
        num_train: Graphs to train on.
        num_validation: Graphs to validate.
        num_test: Graphs to test.
        data_seed: Of the graphs.
        systems: Which of baseline, pag and rpag to train.
        decoder: gru (two layers, as in the released script) or biscale.
        head: How words are said: softmax, pointer_softmax,
            pointer_generator or copynet.
        embedding_dim: Size of the embeddings.
        units: Size of each decoder layer.
        encoder_units: Size of the encoder's state, each direction; --units if
            not given.
        baseline_units: The same of the baseline, if it differs.
        baseline_encoder_units: The same.
        query: Whose states attend: both, first or second.
        plan_steps: Steps that a plan is made for.
        summary_units: Size of the summary of a plan.
        update_gate: Whether a gate mixes the old plan into a new one, as in
            the paper; it makes learning slow (docs/planning.md).
        switch: previous (a plan decides about the step after it) or current,
            as in the released code.
        resample: Whether plans that move on are drawn again, as in the
            released code.
        always_replan: Whether each step plans: the control that tells
            planning from having more weights.
        commitment_penalty: Weight of the penalty on certain plans.
        layer_norm: Whether the decoder's layers are normalised.
        planner_layer_norm: Whether the planner is.
        dropout: Share of embeddings and outputs dropped.
        initializers: keras, or dl4mt, the authors'.
        optimizer: adam, or adadelta.
        learning_rate: Of the optimizer.
        baseline_learning_rate: The same of the baseline, if it differs.
        schedule: constant, or linear for a learning rate that falls to zero
            at the last update.
        batch_size: Graphs of a batch.
        accumulate: Batches of an update.
        clip_norm: Largest norm of the gradients of an update.
        updates: Most updates of each system.
        eval_every: Updates between two scores on the validation set.
        patience: Scores in a row without a better one that end training.
        pad_multiple: Lengths are padded to a multiple of this.
        precision: float32 or mixed_bfloat16.
        num_beams: Beams of the search.
        length_penalty: Scores are divided by length to this power.
        seed: Of weights, order, dropout and noise.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where the best system is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    num_nodes: PositiveInt = 5
    num_distractors: command_line.Seed = 4
    num_train: PositiveInt = 60_000
    num_validation: PositiveInt = 300
    num_test: PositiveInt = 500
    data_seed: command_line.Seed = 0
    systems: list[Literal["baseline", "pag", "rpag"]] = dataclasses.field(
        default_factory=lambda: ["baseline", "pag", "rpag"]
    )
    decoder: Literal["gru", "biscale"] = "gru"
    head: Literal[
        "softmax", "pointer_softmax", "pointer_generator", "copynet"
    ] = "softmax"
    embedding_dim: PositiveInt = 64
    units: PositiveInt = 96
    encoder_units: PositiveInt | None = None
    baseline_units: PositiveInt | None = None
    baseline_encoder_units: PositiveInt | None = None
    query: Literal["both", "first", "second"] = "second"
    plan_steps: PositiveInt = 5
    summary_units: PositiveInt = 32
    update_gate: bool = False
    switch: Literal["previous", "current"] = "previous"
    resample: bool = False
    always_replan: bool = False
    commitment_penalty: NonNegativeFloat = 3e-5
    layer_norm: bool = False
    planner_layer_norm: bool = False
    dropout: command_line.Share = 0.0
    initializers: Literal["keras", "dl4mt"] = "keras"
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 2e-3
    baseline_learning_rate: PositiveFloat | None = None
    schedule: Literal["constant", "linear"] = "linear"
    batch_size: PositiveInt = 64
    accumulate: PositiveInt = 1
    clip_norm: PositiveFloat | None = 5.0
    updates: PositiveInt = 800
    eval_every: PositiveInt = 100
    patience: PositiveInt | None = None
    pad_multiple: PositiveInt = 1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    num_beams: PositiveInt = 1
    length_penalty: NonNegativeFloat = 0.0
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/eulerian_pag"
    savedmodel_dir: str = "savedmodels/eulerian_pag"
    fresh: bool = False

    # What the recipes of one shared vocabulary ask for.
    end_mark = True
    allow_unk = False

    @property
    def max_target_length(self):
        return self.num_nodes + 1


PRESETS = {
    "paper": {
        "num_nodes": 7,
        "num_train": 300_000,
        "num_validation": 500,
        "num_test": 1_000,
        "embedding_dim": 256,
        "units": 360,
        "plan_steps": 12,
        "summary_units": 64,
        "update_gate": True,
        "initializers": "dl4mt",
        "learning_rate": 2e-4,
        "schedule": "constant",
        "batch_size": 32,
        "updates": 30_000,
        "eval_every": 1_000,
    }
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        from tfcopy import training
        from tfcopy.experiments import learning_curves, reporting, run_folder
        from tfcopy.experiments.pairs import planning
        from tfcopy.models.planner import SYSTEMS

    folder = os.path.join(config.log_dir, config.run or config.preset)
    reporting.check_systems(config, SYSTEMS)
    corpus = load_corpus(config)
    run_folder.begin("eulerian_pag", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    data = prepare(config, corpus, os.path.join(folder, "data"))

    results, translators, answers = {}, {}, {}
    for number, system in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {system}")
        translator, trained = planning.train_system(
            config, system, data, strategy, folder, config.layer_norm
        )
        answers[system], scores = answer(translator, data.test)
        results[system] = {**trained, **scores}
        translators[system] = translator

    reporting.print_marked_examples(data.test, answers, range(2))
    print_comparison(results)
    learning_curves.print_lead(results)
    learning_curves.draw(results, folder, "nats a circuit")
    models = {name: x.model for name, x in translators.items()}
    planning.draw_plans(models, data, data.test[0], folder)
    best, path = planning.export(
        translators, config, results, "exact_match", data.words
    )
    report = {
        "recipe": "eulerian_pag",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": PAPER,
        "savedmodel": path,
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    reporting.print_next_steps(
        "eulerian_pag", folder, path, best, data.test[0][0], watch.seconds
    )
    return report


def load_corpus(config):
    """The graphs that the flags ask for."""
    from tfcopy.data.corpora.corpus import CorpusError
    from tfcopy.data.generated import eulerian

    names = ("num_nodes", "num_distractors", "num_train", "num_validation")
    names += ("num_test",)
    try:
        return eulerian.load(
            **{name: getattr(config, name) for name in names},
            seed=config.data_seed,
        )
    except CorpusError as error:
        message = str(error)
        for name in names:
            message = message.replace(f"`{name}`", f"--{name}")
        raise ValueError(message) from error


def prepare(config, corpus, folder):
    """The graphs as ids, remembered in a folder: `common.Data`."""
    from tfcopy.data.text.tokenization import Tokenizer
    from tfcopy.experiments.pairs import copynet_steps

    tokenizer = Tokenizer(mode="space", language="other")
    return copynet_steps.prepare(config, corpus, tokenizer, folder)


def answer(translator, test):
    """Tells the circuits of the test graphs.

    Returns:
        `(translations, scores)`: circuits that are wholly right, with a 95 %
        interval; with the right nodes in whatever order; and single nodes.
    """
    from tfcopy.data.generated import eulerian
    from tfcopy.evaluation import translations
    from tfcopy.experiments import reporting

    watch = reporting.Stopwatch()
    answers = translator.translate_all(source for source, _ in test)
    seconds = watch.seconds
    texts, references = [x.text for x in answers], [pair[1] for pair in test]
    match = translations.exact_match(texts, references)
    low, high = translations.interval(match, len(test))
    nodes = [
        one == other
        for text, reference in zip(texts, references)
        for one, other in zip(
            text.split() + [""] * len(reference.split()), reference.split()
        )
    ]
    return answers, {
        "exact_match": round(match, 2),
        "interval": [round(low, 2), round(high, 2)],
        "sorted_match": round(eulerian.sorted_match(texts, references), 2),
        "accuracy": round(100 * sum(nodes) / len(nodes), 2),
        "seconds_translating": seconds,
    }


def print_comparison(results):
    """A table of the systems beside the paper's."""
    from tfcopy.experiments import reporting

    columns = {
        "circuits": "exact_match",
        "any order": "sorted_match",
        "nodes": "accuracy",
        "dev ppl": "perplexity",
        "weights": "parameters",
        "updates": "updates",
        "seconds": "seconds_training",
    }
    paper = {f"{name}, paper": scores for name, scores in PAPER.items()}
    reporting.print_table({**results, **paper}, columns)
    print(
        "Percent of circuits wholly right, with the right nodes in any order, "
        "and of nodes.\nThe paper's are of seven nodes and 360 units."
    )


# What `serving.export --set` may change.
SEARCH_FLAGS = ("num_beams", "length_penalty")


def restore(config, system, folder, checkpoint):
    """A trained system as `run` exports it.

    Args:
        config: The recipe's config.
        system: Its name.
        folder: Of the run.
        checkpoint: As of `restored.load_weights`.

    Returns:
        `restored.Servable`.
    """
    from tfcopy.experiments.pairs import planning, text_preprocessing

    data_folder = os.path.join(folder, "data")
    known = text_preprocessing.kept(
        data_folder, lambda: prepare(config, load_corpus(config), data_folder)
    )
    return planning.restore(
        config, system, folder, checkpoint, known, config.layer_norm
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
