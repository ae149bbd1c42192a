"""CopyNet in single-turn dialogue (Gu et al., 2016).

Trains an attentional encoder-decoder (rnnsearch) and CopyNet (copynet) on
inputs and responses of 173 patterns with slots, for names, places, dates and
the like: DS-I, whose test inputs have the fillers of the training inputs, and
DS-II, where no filler was ever seen. Counts how often the best answer, and
one of the ten best, is exactly the response; exports CopyNet.

    python -m tfcopy.recipes.dialogue_copynet                   a small one
    python -m tfcopy.recipes.dialogue_copynet --preset paper    the paper's
    python -m tfcopy.recipes.dialogue_copynet --train '[a.src, a.tgt]'
                                            your own inputs and responses

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

# With the authors' own 173 patterns, in Chinese.
PAPER = {
    "rnnsearch": {
        "DS-I": {"top1": 44.1, "top10": 57.7},
        "DS-II": {"top1": 13.5, "top10": 15.9},
    },
    "copynet": {
        "DS-I": {"top1": 61.2, "top10": 71.0},
        "DS-II": {"top1": 50.5, "top10": 64.8},
    },
}

SHOWN = 4  # answers


@dataclasses.dataclass(frozen=True)
class Config:
    """Dialogues, model, training, search, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes the other fields started from.
        datasets: Which of DS-I and DS-II to train on.
        train: Two text files of your own instead, inputs and responses, plain
            or gzipped.
        validation: Two files; held out from --train if not given.
        test: Two files; held out from --train if not given.
        tokenization: words; or characters, as in the paper (of Chinese).
        min_count: Rarer words are not in the vocabulary; of characters all
            are.
        max_size: Largest size of the vocabulary.
        max_source_length: Tokens of an input that are read.
        num_train: Dialogues to generate for training.
        num_test: Dialogues to generate for testing.
        dialogues_seed: Of the dialogues.
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
        max_target_length: Most tokens of an answer, with its end.
        allow_unk: Whether <unk> may be an answer.
        seed: Of weights, order and dropout.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where CopyNet (or the last system), trained on the
            last dataset, is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    datasets: list[Literal["DS-I", "DS-II"]] = dataclasses.field(
        default_factory=lambda: ["DS-I", "DS-II"]
    )
    train: list[str] | None = None
    validation: list[str] | None = None
    test: list[str] | None = None
    tokenization: Literal["words", "characters"] = "words"
    min_count: PositiveInt = 2
    max_size: PositiveInt | None = None
    max_source_length: PositiveInt = 200
    num_train: PositiveInt = 6_500
    num_test: PositiveInt = 1_500
    dialogues_seed: command_line.Seed = 0
    systems: list[Literal["enc_dec", "rnnsearch", "copynet"]] = (
        dataclasses.field(default_factory=lambda: ["rnnsearch", "copynet"])
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
    updates: PositiveInt = 2_000
    eval_every: PositiveInt = 250
    patience: PositiveInt | None = None
    pad_multiple: PositiveInt = 1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    num_beams: PositiveInt = 10
    length_penalty: NonNegativeFloat = 0.0
    max_target_length: PositiveInt = 80
    allow_unk: bool = False
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/dialogue_copynet"
    savedmodel_dir: str = "savedmodels/dialogue_copynet"
    fresh: bool = False


PRESETS = {
    "paper": {
        "tokenization": "characters",
        "embedding_dim": 150,
        "units": 300,
        "learning_rate": 1e-3,
        "batch_size": 20,
        "updates": 3_250,
        "eval_every": 325,
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
    run_folder.begin("dialogue_copynet", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    results = {system: {} for system in config.systems}
    ceilings, translators = {}, {}
    for name, (corpus, ceiling) in load(config, folder).items():
        ceilings[name] = ceiling
        subfolder = os.path.join(folder, name)
        data = prepare(config, corpus, os.path.join(subfolder, "data"))
        answers = {}
        for number, system in enumerate(config.systems, 1):
            print(f"\n[{name} {number}/{len(config.systems)}] {system}")
            model = copynet_steps.build_model(config, data, system, strategy)
            print(f"{reporting.num_parameters(model):,} parameters")
            translator = copynet_steps.build_translator(
                config,
                model,
                data,
                max_source_length=config.max_source_length,
            )
            trained = copynet_steps.train(
                config, system, model, translator, data, subfolder
            )
            answers[system], scores = answer(translator, data)
            results[system][name] = {**trained, **scores}
            translators[system] = translator
        reporting.print_marked_examples(
            data.test, answers, unit=config.tokenization
        )

    for scores in results.values():
        for metric in ("top1", "top10"):
            values = [scores[name][metric] for name in ceilings]
            scores[metric] = round(sum(values) / len(values), 2)
    print_comparison(results, ceilings)
    chosen = "copynet" if "copynet" in translators else config.systems[-1]
    top1 = results[chosen][name]["top1"]
    path = restoring.export(
        restoring.servable(
            chosen, translators[chosen], data.words, dataset=name
        ),
        config.savedmodel_dir,
        top1=top1,
    )
    report = {
        "recipe": "dialogue_copynet",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": PAPER,
        "savedmodel": path,
        "ceilings": {
            name: {"top1": top1} for name, top1 in ceilings.items() if top1
        },
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    reporting.print_next_steps(
        "dialogue_copynet",
        folder,
        path,
        chosen,
        data.test[0][0],
        watch.seconds,
    )
    return report


def load(config, folder):
    """The dialogues that the flags ask for.

    Returns:
        Dict from a name to a corpus and the best possible top-1 accuracy on
        its test set, `None` where that is not known.
    """
    from tfcopy.data.corpora import text_pairs
    from tfcopy.data.generated import dialogue
    from tfcopy.experiments import reporting

    if config.max_size is not None and config.max_size < 5:
        raise ValueError(
            "--max_size must be at least 5: four words are special. "
            f"Received: {config.max_size}."
        )
    for flag in ("validation", "test"):
        if getattr(config, flag) is not None and config.train is None:
            raise ValueError(f"--{flag} needs --train as well.")
    if config.train is not None:
        corpus = text_pairs.load(
            reporting.file_pair(config.train, "--train"),
            reporting.file_pair(config.validation, "--validation"),
            reporting.file_pair(config.test, "--test"),
            source_language="en",
            target_language="en",
            seed=config.seed,
        )
        return {"own": (corpus, None)}
    if not config.datasets:
        raise ValueError("--datasets must name DS-I, DS-II or both.")
    corpora = {}
    for name in config.datasets:
        made = dialogue.load(
            os.path.join(folder, "data"),
            name,
            num_train=config.num_train,
            num_test=config.num_test,
            seed=config.dialogues_seed,
        )
        corpora[name] = made.corpus, round(made.ceiling_top1, 2)
    return corpora


def prepare(config, corpus, folder):
    """A corpus as ids, remembered in a folder: `common.Data`."""
    from tfcopy.experiments.pairs import copynet_steps

    of_words = config.tokenization == "words"
    return copynet_steps.prepare(
        config,
        corpus,
        make_tokenizer(config),
        folder,
        max_size=config.max_size,
        min_count=config.min_count if of_words else 1,
        truncate=(config.max_source_length, None),
    )


def make_tokenizer(config):
    """The tokenizer that the flags ask for."""
    from tfcopy.data.text.tokenization import Tokenizer

    modes = {"words": "moses", "characters": "characters"}
    return Tokenizer(mode=modes[config.tokenization], language="en")


def answer(translator, data):
    """Answers the test inputs.

    Returns:
        `(translations, scores)`: of the first inputs, to be shown, and of all
        top-1 and top-10 accuracy and the 95 % interval of the first.
    """
    from tfcopy.evaluation import translations
    from tfcopy.experiments import reporting

    sources = [source for source, _ in data.test]
    references = through_tokens(data, [target for _, target in data.test])
    watch = reporting.Stopwatch()
    candidates = translator.n_best_all(sources)
    seconds = watch.seconds
    answers = translator.translate_all(sources[:SHOWN])
    top1 = translations.top_n_accuracy(candidates, references, 1)
    low, high = translations.interval(top1, len(references))
    return answers, {
        "top1": round(top1, 2),
        "top10": round(
            translations.top_n_accuracy(candidates, references, 10), 2
        ),
        "top1_interval": [round(low, 2), round(high, 2)],
        "seconds_translating": seconds,
    }


def through_tokens(data, texts):
    """Texts as they come back from their tokens, as all answers do."""
    from tfcopy.data import chunks

    tokenizer = data.tokenizers[1]
    tokens = tokenizer.tokenize(chunks.to_tensor(texts))
    return [text.decode() for text in tokenizer.detokenize(tokens).numpy()]


def print_comparison(results, ceilings):
    """A table of the systems beside the paper's."""
    others = " (the paper's dialogues were other ones)"
    print(f"\nAccuracy, in percent{'' if 'own' in ceilings else others}:")
    columns = [(name, n) for name in ceilings for n in ("top1", "top10")]
    titles = [f"{name} {n}" for name, n in columns]
    print(f"\n{'':18}" + "".join(f"{title:>13}" for title in titles))
    rows = {}
    for system, scores in results.items():
        rows[system] = scores
        rows[f"{system}, paper"] = PAPER.get(system, {})
    rows["best possible"] = {
        name: {"top1": top1} for name, top1 in ceilings.items() if top1
    }
    for title, scores in rows.items():
        cells = [scores.get(name, {}).get(n) for name, n in columns]
        if any(cell is not None for cell in cells):
            cells = ["" if x is None else f"{x:.1f}" for x in cells]
            print(f"{title:18}" + "".join(f"{cell:>13}" for cell in cells))


# What `serving.export --set` may change.
SEARCH_FLAGS = ("num_beams", "length_penalty", "max_target_length", "allow_unk")
SEARCH_FLAGS += ("max_source_length",)


def restore(config, system, folder, checkpoint):
    """A trained system as `run` exports it.

    Args:
        config: The recipe's config.
        system: The folders of dataset and system, `DS-II/copynet`.
        folder: Of the run.
        checkpoint: As of `restored.load_weights`.

    Returns:
        `restored.Servable`.
    """
    from tfcopy.experiments import restoring
    from tfcopy.experiments.pairs import copynet_steps, text_preprocessing

    dataset, name = system.split("/")
    data_folder = os.path.join(folder, dataset, "data")

    def read_corpus():
        corpus, _ = load(config, folder)[dataset]
        return prepare(config, corpus, data_folder)

    known = text_preprocessing.kept(data_folder, read_corpus)
    translator = copynet_steps.restore(
        config,
        name,
        os.path.join(folder, system),
        checkpoint,
        known,
        max_source_length=config.max_source_length,
    )
    return restoring.servable(name, translator, known, dataset=dataset)


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
