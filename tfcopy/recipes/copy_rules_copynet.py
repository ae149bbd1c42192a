"""CopyNet on synthetic transformation rules (Gu et al., 2016).

A rule such as `a b x c -> d x` rewrites a string; its variables are filled
with random strings, other ones in each pair. Trains an encoder-decoder
(enc_dec), the same with attention (rnnsearch) and CopyNet (copynet), counts
how often the best of a beam is exactly right, for each type of rule, and
exports CopyNet.

    python -m tfcopy.recipes.copy_rules_copynet                 a small one
    python -m tfcopy.recipes.copy_rules_copynet --preset paper  the paper's

Repeating a command that was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
from typing import Literal

from jsonargparse.typing import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet

# Exact match for each type of rule, in percent.
TYPES = ("x -> none", "x -> x", "x -> xx", "xy -> x", "xy -> xy")
PAPER = {
    "enc_dec": (100.0, 3.3, 1.5, 2.9, 0.0),
    "rnnsearch": (99.0, 69.4, 22.3, 40.7, 2.6),
    "copynet": (97.3, 93.7, 98.3, 68.2, 77.5),
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Rules, model, training, search, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes the other fields started from.
        rules_per_type: Rules of each of the five types.
        instances: Pairs of each rule; half are trained on, half tested.
        num_symbols: Symbols that rules and fillings are made of.
        longest_filling: Most symbols a variable stands for.
        longest_left: Most symbols of a rule's left side, variables aside.
        longest_right: Most symbols of a rule's right side, variables aside.
        count: What the paper's 5 to 20 symbols counts: both sides of a rule,
            or its source.
        no_collision: Whether fillings have no symbol of their rule.
        rules_seed: Of rules and fillings; the authors' by default.
        test_pairs: Most test pairs of each type to answer; all if not given.
        systems: Which of enc_dec, rnnsearch and copynet to train.
        embedding_dim: Size of the embeddings.
        units: Size of the GRUs (of one direction in the encoder).
        attention_units: Hidden size of the attention; --units if not given.
        end_mark: Whether a source ends with a mark that attention can see, so
            that what comes after its last word is a place like any other.
        position_one_hot: Positions that CopyNet's annotations tell apart by a
            one-hot vector; 57 in the authors' code, 0 in the paper.
        coverage: Whether attention sees how much a position has got, as in
            the authors' code.
        deep_readout: Whether context and last word have linear terms in the
            logits, as in the authors' code.
        dropout: Share of embeddings and outputs dropped; 0 in the paper.
        initializers: keras, or the authors'.
        optimizer: adam, or adadelta.
        learning_rate: Of the optimizer.
        schedule: constant, or linear for a learning rate that falls to zero
            at the last update.
        batch_size: Pairs of a batch.
        accumulate: Batches of an update.
        clip_norm: Largest norm of the gradients of an update.
        updates: Most updates of each system.
        eval_every: Updates between two scores on the validation set.
        patience: Scores in a row without a better one that end training.
        pad_multiple: Lengths are padded to a multiple of this.
        precision: float32 or mixed_bfloat16.
        num_beams: Beams of the search.
        length_penalty: Scores are divided by length to this power.
        max_target_length: Most symbols of an answer, with its end.
        allow_unk: Whether <unk> may be an answer.
        seed: Of weights, order and dropout.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where CopyNet (or the last system) is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    rules_per_type: PositiveInt = 8
    instances: PositiveInt = 200
    num_symbols: PositiveInt = 100
    longest_filling: PositiveInt = 6
    longest_left: PositiveInt = 8
    longest_right: PositiveInt = 4
    count: Literal["both", "source"] = "both"
    no_collision: bool = False
    rules_seed: command_line.Seed = 19920206
    test_pairs: PositiveInt | None = 100
    systems: list[Literal["enc_dec", "rnnsearch", "copynet"]] = (
        dataclasses.field(
            default_factory=lambda: ["enc_dec", "rnnsearch", "copynet"]
        )
    )
    embedding_dim: PositiveInt = 64
    units: PositiveInt = 128
    attention_units: PositiveInt | None = None
    end_mark: bool = False
    position_one_hot: NonNegativeInt = 0
    coverage: bool = False
    deep_readout: bool = False
    dropout: command_line.Share = 0.2
    initializers: Literal["keras", "authors"] = "keras"
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 2e-3
    schedule: Literal["constant", "linear"] = "linear"
    batch_size: PositiveInt = 64
    accumulate: PositiveInt = 1
    clip_norm: PositiveFloat | None = 5.0
    updates: PositiveInt = 1_500
    eval_every: PositiveInt = 250
    patience: PositiveInt | None = None
    pad_multiple: PositiveInt = 1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    num_beams: PositiveInt = 10
    length_penalty: NonNegativeFloat = 0.0
    max_target_length: PositiveInt = 57
    allow_unk: bool = False
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/copy_rules_copynet"
    savedmodel_dir: str = "savedmodels/copy_rules_copynet"
    fresh: bool = False


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


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        from tfcopy import training
        from tfcopy.experiments import reporting, restoring, run_folder
        from tfcopy.experiments.pairs import copynet_steps
        from tfcopy.models.copynet import SYSTEMS

    folder = os.path.join(config.log_dir, config.run or config.preset)
    reporting.check_systems(config, SYSTEMS)
    run_folder.begin("copy_rules_copynet", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    data, rules = prepare(config, os.path.join(folder, "data"))
    test = choose_test(config, data.test, rules)

    results, translators, answers = {}, {}, {}
    for number, system in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {system}")
        model = copynet_steps.build_model(config, data, system, strategy)
        print(f"{reporting.num_parameters(model):,} parameters")
        translator = copynet_steps.build_translator(config, model, data)
        trained = copynet_steps.train(
            config, system, model, translator, data, folder
        )
        answers[system], scores = answer(translator, test)
        results[system] = {**trained, **scores}
        translators[system] = translator

    print_examples(test, answers)
    print_comparison(results)
    chosen = "copynet" if "copynet" in translators else config.systems[-1]
    path = restoring.export(
        restoring.servable(chosen, translators[chosen], data.words),
        config.savedmodel_dir,
        exact_match=results[chosen]["exact_match"],
    )
    report = {
        "recipe": "copy_rules_copynet",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": {
            system: {
                kind: {"exact_match": value}
                for kind, value in zip(TYPES, values)
            }
            for system, values in PAPER.items()
        },
        "savedmodel": path,
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    reporting.print_next_steps(
        "copy_rules_copynet", folder, path, chosen, test[0][0], watch.seconds
    )
    return report


def prepare(config, folder):
    """The pairs as ids, and the rules; both are remembered in a folder.

    Returns:
        `(data, rules)`: `common.Data` and `RulesCorpus`.
    """
    from tfcopy.data.text.tokenization import Tokenizer
    from tfcopy.experiments.pairs import copynet_steps

    rules = load_rules(config, folder)
    tokenizer = Tokenizer(mode="space", language="other")
    return copynet_steps.prepare(config, rules.corpus, tokenizer, folder), rules


def load_rules(config, folder):
    """The pairs that the flags ask for."""
    from tfcopy.data.corpora.corpus import CorpusError
    from tfcopy.data.generated import copy_rules

    if config.instances % 2:
        raise ValueError(
            "--instances must be even: half are trained on, half tested. "
            f"Received: {config.instances}."
        )
    try:
        return copy_rules.load(
            folder,
            rules_per_type=config.rules_per_type,
            instances=config.instances,
            num_symbols=config.num_symbols,
            longest_filling=config.longest_filling,
            left_symbols=(min(4, config.longest_left), config.longest_left),
            right_symbols=(1, config.longest_right),
            no_collision=config.no_collision,
            count=config.count,
            seed=config.rules_seed,
        )
    except CorpusError:
        raise
    except ValueError as error:
        raise ValueError(_with_flags(str(error))) from error


def _with_flags(message):
    """The message of a wrong argument, naming the flag it came from."""
    for argument, flag in (
        ("`left_symbols`", "--longest_left"),
        ("`right_symbols`", "--longest_right"),
        ("`num_symbols`", "--num_symbols"),
        ("`rules_per_type`", "--rules_per_type"),
    ):
        message = message.replace(argument, flag)
    return message


def choose_test(config, pairs, rules):
    """Triples of source, target and type, so many of each type as wanted.

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
        `(translations, scores)`; exact match, and in `types` that of each
        type with its 95 % interval and the number of pairs.
    """
    from tfcopy.evaluation import translations as evaluation
    from tfcopy.experiments import reporting

    watch = reporting.Stopwatch()
    answers = translator.translate_all(source for source, _, _ in test)
    seconds = watch.seconds
    types = {}
    for kind in TYPES:
        rows = [i for i, pair in enumerate(test) if pair[2] == kind]
        match = evaluation.exact_match(
            [answers[i].text for i in rows], [test[i][1] for i in rows]
        )
        low, high = evaluation.interval(match, len(rows))
        types[kind] = {
            "exact_match": round(match, 2),
            "interval": [round(low, 2), round(high, 2)],
            "pairs": len(rows),
        }
    mean = sum(score["exact_match"] for score in types.values()) / len(types)
    return answers, {
        "exact_match": round(mean, 2),
        "types": types,
        "copy_rate": round(
            evaluation.copy_rate([a.copied_from for a in answers]), 2
        ),
        "seconds_translating": seconds,
    }


def print_examples(test, answers):
    """Shows an answer of each type, with copied symbols marked [so]."""
    from tfcopy.experiments import reporting

    print("\nExamples from the test set (symbols [copied] from the source):")
    width = max(map(len, answers)) + 2
    for kind in TYPES:
        i = next(i for i, pair in enumerate(test) if pair[2] == kind)
        print(f"\n{kind}\n{'source':{width}}{test[i][0]}")
        for system, translations in answers.items():
            print(f"{system:{width}}{reporting.mark_copied(translations[i])}")
        print(f"{'reference':{width}}{test[i][1]}")


def print_comparison(results):
    """A table of the systems beside the paper's."""
    print("\nExact match, in percent (the paper's rules were other ones):")
    print(f"\n{'':18}" + "".join(f"{kind:>11}" for kind in TYPES))
    for system, scores in results.items():
        cells = [scores["types"][kind]["exact_match"] for kind in TYPES]
        print(f"{system:18}" + "".join(f"{cell:>11.1f}" for cell in cells))
        cells = PAPER[system]
        print(f"{'  paper':18}" + "".join(f"{cell:>11.1f}" for cell in cells))


# What `serving.export --set` may change.
SEARCH_FLAGS = ("num_beams", "length_penalty", "max_target_length", "allow_unk")


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
    from tfcopy.experiments import restoring
    from tfcopy.experiments.pairs import copynet_steps, text_preprocessing

    data_folder = os.path.join(folder, "data")
    known = text_preprocessing.kept(
        data_folder, lambda: prepare(config, data_folder)[0]
    )
    translator = copynet_steps.restore(
        config, system, os.path.join(folder, system), checkpoint, known
    )
    return restoring.servable(system, translator, known)


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
