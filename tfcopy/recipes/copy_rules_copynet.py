"""CopyNet on synthetic transformation rules (Gu et al., 2016).

A rule such as `a b x c -> d x` rewrites a string; its variables are filled
with random strings that differ from pair to pair. Trains an encoder-decoder
(enc_dec), the same with attention (rnnsearch) and CopyNet (copynet), measures
exact match by beam search for each type of rule, and exports the best.

    python -m tfcopy.recipes.copy_rules_copynet                 small rules
    python -m tfcopy.recipes.copy_rules_copynet --preset paper  as in the paper

Repeating an interrupted command resumes it where it stopped.
"""

import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import from_flags
from tfcopy.experiments.pairs import model_flags
from tfcopy.flags import PositiveInt, name_flags

SYSTEMS = ("enc_dec", "rnnsearch", "copynet")
# Exact match for each type of rule, in percent.
TYPES = ("x -> none", "x -> x", "x -> xx", "xy -> x", "xy -> xy")
PAPER = {
    "enc_dec": (100.0, 3.3, 1.5, 2.9, 0.0),
    "rnnsearch": (99.0, 69.4, 22.3, 40.7, 2.6),
    "copynet": (97.3, 93.7, 98.3, 68.2, 77.5),
}


PRESETS = {
    "paper": {
        "rules_per_type": 40,
        "num_symbols": 1_000,
        "longest_filling": 15,
        "longest_left": 14,
        "longest_right": 6,
        "test_pairs": None,
        "embedding_dim": 150,
        "units": 300,
        "end_mark": True,
        "learning_rate": 1e-3,
        "batch_size": 20,
        "updates": 10_000,
        "eval_every": 1_000,
    }
}


@config.configuration(
    "copy_rules_copynet",
    presets=PRESETS,
    claims={"copynet is right more often than rnnsearch": "exact_match"},
    minutes={"demo": 4},
    unfinished_compete=True,
    forbid_unk=True,
    dropout=0.2,
    batch_size=64,
    updates=1_500,
    length_penalty=0.0,
)
class Config(model_flags.CopyNetConfig):
    """Rules, model, training, search, and where the results go.

    Attributes:
        rules_per_type: Number of rules of each of the five types.
        instances: Number of pairs per rule; half for training, half for
            testing.
        num_symbols: Number of symbols that rules and fillings are made of.
        longest_filling: Maximum number of symbols that a variable stands for.
        longest_left: Maximum number of symbols on a rule's left side, without
            variables.
        longest_right: Maximum number of symbols on a rule's right side, without
            variables.
        count: Meaning of the paper's rule length of 5 to 20 symbols: both sides
            of a rule, or its source side alone.
        no_collision: Keep the symbols of a rule out of its fillings.
        test_pairs: Maximum number of test pairs per type to answer; all if not
            given.
        systems: Systems to train, any of enc_dec, rnnsearch and copynet.
    """

    rules_per_type: PositiveInt = config.data.common(8)
    instances: PositiveInt = config.data.common(200)
    num_symbols: PositiveInt = config.data(100)
    longest_filling: PositiveInt = config.data(6)
    longest_left: PositiveInt = config.data(8)
    longest_right: PositiveInt = config.data(4)
    count: Literal["both", "source"] = config.data("both")
    no_collision: bool = config.data(False)
    test_pairs: PositiveInt | None = config.data(100, fixed=False)
    systems: list[Literal[SYSTEMS]] = config.systems(list(SYSTEMS))


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.evaluation import translations
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import copynet_systems
    from tfcopy.experiments.run import Run

    copynet_systems.check(config)
    run = Run(config)
    data, rules = prepare(config, run.data_folder)
    test = choose_test(config, data.test, rules)

    answers = {}
    for name in run.each(data.identity):
        system = copynet_systems.build(run, name, data)
        trained = copynet_systems.train(system, data)
        answers[name], scores = answer(system.served, test)
        run.results[name] = {**trained, **scores}

    first = {}
    for i, (*_, kind) in enumerate(test):
        first.setdefault(kind, i)
    titles = {i: kind for kind, i in first.items()}
    reporting.print_marked_examples(test, answers, titles, "symbols", titles)
    print("\nExact match, in percent (the paper's rules were different):")
    rows = {}
    for system, scores in run.results.items():
        rows[system] = {x: scores["types"][x]["exact_match"] for x in TYPES}
        if system in PAPER:
            rows[f"{system}, paper"] = dict(zip(TYPES, PAPER[system]))
    reporting.print_table(rows, dict(zip(TYPES, TYPES)))
    return run.finish(
        run.best_answers("exact_match", data, translations.exact_match),
        pairs=data.pairs,
        paper={
            system: dict(zip(TYPES, ({"exact_match": x} for x in values)))
            for system, values in PAPER.items()
        },
    )


def prepare(config, folder):
    """Encodes the pairs, kept in a folder.

    Returns:
        `(data, rules)`: `PairData` and `RulesCorpus`.
    """
    from tfcopy.data.text.tokenization import Tokenizer
    from tfcopy.experiments.pairs import copynet_systems

    rules = load_rules(config)
    tokenizer = Tokenizer(mode="space", language="other")
    data = copynet_systems.prepare(config, rules.corpus, tokenizer, folder)
    return data, rules


def load_rules(config):
    """Generates the pairs that the flags describe."""
    from tfcopy.data.generated import copy_rules

    with name_flags(left_symbols="longest_left", right_symbols="longest_right"):
        return from_flags(
            copy_rules.load,
            config,
            left_symbols=(min(4, config.longest_left), config.longest_left),
            right_symbols=(1, config.longest_right),
            seed=19920206,  # the authors'
        )


def choose_test(config, pairs, rules):
    """Chooses test pairs, as many of each type as requested.

    Args:
        config: The recipe's config.
        pairs: The test pairs.
        rules: `RulesCorpus`; its pairs are in a mixed order.
    """
    by_rule = sorted(range(len(pairs)), key=lambda i: rules.test_rules[i])
    chosen = []
    for kind in TYPES:
        rows = [i for i in by_rule if rules.test_types[i] == kind]
        number = min(config.test_pairs or len(rows), len(rows))
        # Evenly over all rules.
        rows = [rows[i * len(rows) // number] for i in range(number)]
        chosen += [(*pairs[i], kind) for i in rows]
    return chosen


def answer(translator, test):
    """Answers the test pairs.

    Returns:
        `(translations, scores)`; exact match, and in `types` the exact match of
        each type with its 95 % interval and the number of pairs.
    """
    from tfcopy.evaluation import translations
    from tfcopy.experiments import reporting
    from tfcopy.experiments.run import measure_time

    sources = [source for source, _, _ in test]
    answers, seconds = measure_time(translator.translate_all, sources)
    types = {}
    for kind in TYPES:
        rows = [i for i, pair in enumerate(test) if pair[2] == kind]
        match = translations.exact_match(
            [answers[i].text for i in rows], [test[i][1] for i in rows]
        )
        types[kind] = reporting.share("exact_match", match, len(rows))
        types[kind]["pairs"] = len(rows)
    mean = sum(score["exact_match"] for score in types.values()) / len(types)
    return answers, {
        "exact_match": round(mean, 2),
        "types": types,
        "copy_rate": round(
            translations.copy_rate([a.copied_from for a in answers]), 2
        ),
        "seconds_translating": seconds,
    }


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
