"""Eulerian circuits with planners (Gulcehre et al., 2017; Dutil et al., 2017).

The source lists a graph's edges in random order; the target is the ring
through two neighbours, node by node. Trains an attentional decoder (baseline),
one that plans its alignments (pag) and one that repeats them (rpag), measures
how many circuits are entirely right, draws where each attended and when it
planned, and exports the best one.

    python -m tfcopy.recipes.eulerian_pag                    small graphs
    python -m tfcopy.recipes.eulerian_pag --preset thorough  all three systems
    python -m tfcopy.recipes.eulerian_pag --preset paper     the paper's sizes

Repeating an interrupted command resumes it where it stopped.
"""

import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import from_flags
from tfcopy.experiments.pairs import model_flags
from tfcopy.flags import PositiveInt, name_flags

SYSTEMS = ("baseline", "pag", "rpag")
PAPER = {"baseline": {"exact_match": 90.4}, "pag": {"exact_match": 100.0}}


PRESETS = {
    "demo": {"systems": ["baseline", "pag"], "plan_steps": 3, "updates": 400},
    "thorough": {},
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
    },
}


COLUMNS = {
    "circuits": "exact_match",
    "any order": "sorted_match",
    "nodes": "accuracy",
    "dev ppl": "perplexity",
    **config.SIZE_AND_TIME,
}


@config.configuration(
    "eulerian_pag",
    presets=PRESETS,
    claims={"pag gets more circuits right than baseline": "exact_match"},
    minutes={"demo": 3, "thorough": 8},
    baselines=["baseline"],
    unfinished_compete=True,
    forbid_unk=True,
    units=96,
    query="second",
    plan_steps=5,
    batch_size=64,
    updates=800,
    eval_every=50,
    num_beams=1,
    length_penalty=0.0,
)
class Config(model_flags.PlannerConfig):
    """Graphs, models, training, search, and where the results go.

    Attributes:
        num_nodes: Number of nodes in the ring.
        num_distractors: Number of nodes outside the ring: 0, or at least 3.
        num_train: Number of training graphs.
        num_validation: Number of validation graphs.
        num_test: Number of test graphs.
        systems: Systems to train, any of baseline, pag and rpag.
    """

    num_nodes: PositiveInt = config.data.common(5)
    num_distractors: config.Seed = config.data(4)
    num_train: PositiveInt = config.data.common(60_000)
    num_validation: PositiveInt = config.data(300)
    num_test: PositiveInt = config.data(500, fixed=False)
    systems: list[Literal[SYSTEMS]] = config.systems(list(SYSTEMS))


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.evaluation import translations
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import planning
    from tfcopy.experiments.run import Run

    planning.check(config)
    corpus = load_corpus(config)
    run = Run(config)
    data = prepare(config, corpus, run.data_folder)

    answers = {}
    for name in run.each(data.identity):
        system = planning.build(run, name, data, config.num_nodes + 1)
        trained = planning.train(system, data)
        answers[name], scores = answer(system.served, data.test)
        run.results[name] = {**trained, **scores}

    reporting.print_marked_examples(data.test, answers, range(2))
    reporting.print_table(run.results, COLUMNS, PAPER)
    print(
        "Percent of circuits entirely right, with the right nodes in any "
        "order, and of nodes.\nThe paper's figures are for seven nodes and 360 "
        "units."
    )
    reporting.print_lead(run.results)
    reporting.draw(run.results, run.folder, "nats per circuit")
    planning.draw_plans(run, data)
    best = run.best_answers("exact_match", data, translations.exact_match)
    return run.finish(best, paper=PAPER, pairs=data.pairs)


def load_corpus(config):
    """Generates the graphs that the flags describe."""
    from tfcopy.data.generated import eulerian

    with name_flags():
        return from_flags(eulerian.load, config, seed=0)


def prepare(config, corpus, folder):
    """Encodes the graphs as ids, kept in a folder: `PairData`."""
    from tfcopy.data.text.tokenization import Tokenizer
    from tfcopy.experiments.pairs import copynet_systems

    tokenizer = Tokenizer(mode="space", language="other")
    return copynet_systems.prepare(config, corpus, tokenizer, folder)


def answer(translator, test):
    """Answers with the circuits of the test graphs.

    Returns:
        `(translations, scores)`: circuits that are completely right, with a 95
        % interval; with the right nodes in any order; and single nodes.
    """
    from tfcopy.data.generated import eulerian
    from tfcopy.evaluation import translations
    from tfcopy.experiments import reporting
    from tfcopy.experiments.run import measure_time

    sources, references = zip(*test)
    answers, seconds = measure_time(translator.translate_all, sources)
    texts = [answer.text for answer in answers]
    match = translations.exact_match(texts, references)
    nodes = [
        one == other
        for text, reference in zip(texts, references)
        for one, other in zip(
            text.split() + [""] * len(reference.split()), reference.split()
        )
    ]
    return answers, {
        **reporting.share("exact_match", match, len(test)),
        "sorted_match": round(eulerian.match_sorted(texts, references), 2),
        "accuracy": round(100 * sum(nodes) / len(nodes), 2),
        "seconds_translating": seconds,
    }


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
