"""CopyNet on LCSTS, short news and their summaries (Gu et al., 2016).

Trains an attentional encoder-decoder (rnn_context) and CopyNet (copynet) on
characters, on words, or on both; compares them by ROUGE; exports CopyNet.
LCSTS is given out by its owners on request. Without it English news of the
same form are generated, whose names no vocabulary holds: what is measured on
them cannot be compared with the paper.

    python -m tfcopy.recipes.lcsts_copynet                   generated news
    python -m tfcopy.recipes.lcsts_copynet --data_dir LCSTS/ --preset paper

Words of Chinese need jieba: pip install "tfcopy[jieba]". The exported model
of them reads what jieba gives, words between blanks. Repeating a command that
was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
import warnings
from typing import Literal

from jsonargparse.typing import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet

# On LCSTS itself.
PAPER = {
    "rnn_context": {
        "characters": {"rouge1": 29.9, "rouge2": 17.4, "rougeL": 27.2},
        "words": {"rouge1": 26.8, "rouge2": 16.1, "rougeL": 24.1},
    },
    "copynet": {
        "characters": {"rouge1": 34.4, "rouge2": 21.6, "rougeL": 31.3},
        "words": {"rouge1": 35.0, "rouge2": 22.3, "rougeL": 32.0},
    },
}
SYSTEMS = {"rnn_context": "rnnsearch", "copynet": "copynet"}
# Most tokens of a text and of a summary: 140 and 32 of Chinese. English
# characters are several to a word.
LIMITS = {("en", "characters"): (600, 160)}
LEAST_OOV_RATE = 10.0


@dataclasses.dataclass(frozen=True)
class Config:
    """News, model, training, search, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes the other fields started from.
        data_dir: Folder with PART_I.txt, PART_II.txt and PART_III.txt of
            LCSTS; generated if not given.
        num_train: News to generate for training.
        num_test: News to generate for testing, before those with a low score
            are left out.
        full: Generate as many news as LCSTS has.
        script: Of the names in generated news: latin, or cjk for ideographs,
            the rare ones of which no vocabulary of characters holds.
        news_seed: Of the generated news.
        tokenizations: characters, words or both, one after the other.
        min_score: Pairs of parts II and III with a lower score are left out.
        character_vocabulary_size: Most frequent characters to keep.
        word_vocabulary_size: Most frequent words to keep.
        max_source_length: Tokens of a text that are read; if not given 140,
            or 600 of English characters.
        systems: Which of rnn_context and copynet to train.
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
        max_target_length: Most tokens of a summary without its end; if not
            given 32, or 160 of English characters.
        allow_unk: Whether <unk> may be an answer.
        seed: Of weights, order and dropout.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where CopyNet (or the last system), of the last
            tokenization, is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    data_dir: str | None = None
    num_train: PositiveInt = 20_000
    num_test: PositiveInt = 400
    full: bool = False
    script: Literal["latin", "cjk"] = "latin"
    news_seed: command_line.Seed = 0
    tokenizations: list[Literal["characters", "words"]] = dataclasses.field(
        default_factory=lambda: ["words"]
    )
    min_score: Literal[1, 2, 3, 4, 5] = 3
    character_vocabulary_size: PositiveInt = 3_000
    word_vocabulary_size: PositiveInt = 10_000
    max_source_length: PositiveInt | None = None
    systems: list[Literal["rnn_context", "copynet"]] = dataclasses.field(
        default_factory=lambda: ["rnn_context", "copynet"]
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
    updates: PositiveInt = 1_000
    eval_every: PositiveInt = 250
    patience: PositiveInt | None = None
    pad_multiple: PositiveInt = 1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    num_beams: PositiveInt = 10
    length_penalty: NonNegativeFloat = 1.0
    max_target_length: PositiveInt | None = None
    allow_unk: bool = False
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/lcsts_copynet"
    savedmodel_dir: str = "savedmodels/lcsts_copynet"
    fresh: bool = False


PRESETS = {
    "paper": {
        "num_train": 50_000,
        "num_test": 1_106,
        "tokenizations": ["words", "characters"],
        "embedding_dim": 350,
        "units": 500,
        "dropout": 0.0,
        "learning_rate": 1e-3,
        "schedule": "constant",
        "batch_size": 20,
        "updates": 1_000_000,
        "eval_every": 5_000,
        "patience": 10,
    }
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        from tfcopy import training
        from tfcopy.experiments import reporting, restoring, run_folder
        from tfcopy.experiments.pairs import copynet_steps

    folder = os.path.join(config.log_dir, config.run or config.preset)
    check(config)
    run_folder.begin("lcsts_copynet", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    results = {system: {} for system in config.systems}
    translators = {}
    # All of them first: what is wrong should not show after days of training.
    prepared = {
        tokenization: prepare(config, tokenization, folder)
        for tokenization in config.tokenizations
    }
    for tokenization, (data, limits) in prepared.items():
        subfolder = os.path.join(folder, tokenization)
        answers = {}
        for number, system in enumerate(config.systems, 1):
            print(f"\n[{tokenization} {number}/{len(config.systems)}] {system}")
            model = copynet_steps.build_model(
                config, data, SYSTEMS[system], strategy
            )
            print(f"{reporting.num_parameters(model):,} parameters")
            translator = copynet_steps.build_translator(
                config,
                model,
                data,
                max_target_length=limits[1] + 1,
                max_source_length=limits[0],
            )
            trained = copynet_steps.train(
                config, SYSTEMS[system], model, translator, data, subfolder
            )
            answers[system], scores = answer(translator, data)
            results[system][tokenization] = {**trained, **scores}
            translators[system] = translator
        reporting.print_marked_examples(data.test, answers, unit=tokenization)

    metrics = ("rouge1", "rouge2", "rougeL")
    for scores in results.values():
        for metric in metrics:
            values = [scores[name][metric] for name in prepared]
            scores[metric] = round(sum(values) / len(values), 2)
    generated = config.data_dir is None
    print_comparison(results, prepared, generated)
    chosen = "copynet" if "copynet" in translators else config.systems[-1]
    rouge1 = results[chosen][tokenization]["rouge1"]
    path = restoring.export(
        restoring.servable(
            chosen, translators[chosen], data.words, tokenization=tokenization
        ),
        config.savedmodel_dir,
        rouge1=rouge1,
    )
    report = {
        "recipe": "lcsts_copynet",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": PAPER,
        "savedmodel": path,
        "corpus": "generated" if generated else "LCSTS",
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    reporting.print_next_steps(
        "lcsts_copynet",
        folder,
        path,
        chosen,
        data.test[0][0],
        watch.seconds,
    )
    if data.corpus.tokenized:
        print("\nIt reads words between blanks, as jieba cuts them.")
    return report


def check(config):
    """Raises a ValueError that names the wrong flag."""
    from tfcopy import tokens

    if not config.systems:
        raise ValueError("--systems must name rnn_context, copynet or both.")
    if not config.tokenizations:
        raise ValueError("--tokenizations must name characters, words or both.")
    for flag in ("character_vocabulary_size", "word_vocabulary_size"):
        size = getattr(config, flag)
        if size <= len(tokens.SPECIAL_TOKENS):
            raise ValueError(
                f"--{flag} must be above {len(tokens.SPECIAL_TOKENS)}, the "
                f"number of special words. Received: {size}."
            )


def load_corpus(config, tokenization, folder):
    """LCSTS, or generated news of its form."""
    from tfcopy.data.corpora import lcsts
    from tfcopy.data.generated import newsgen

    if config.data_dir is not None:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            return lcsts.load(
                config.data_dir,
                words=tokenization == "words",
                min_score=config.min_score,
            )
    news = os.path.join(folder, "data")
    newsgen.write(
        news,
        num_train=config.num_train,
        num_validation=min(2_000, config.num_train),
        num_test=config.num_test,
        full=config.full,
        script=config.script,
        seed=config.news_seed,
    )
    return lcsts.load(news, language="en", min_score=config.min_score)


def show_warning(message, *_):
    """Prints what a warning says, and no line of code."""
    print(f"Warning: {message}", file=sys.stderr)


def make_tokenizer(tokenization, language):
    """The tokenizer of both sides; Chinese comes cut into words already."""
    from tfcopy.data.text.tokenization import Tokenizer

    if tokenization == "characters":
        return Tokenizer(mode="characters", language=language)
    mode = "moses" if language == "en" else "space"
    return Tokenizer(mode=mode, language=language)


def prepare(config, tokenization, folder):
    """The corpus as ids.

    Returns:
        `(data, limits)`: `common.Data`, and the most tokens of a text and of
        a summary.
    """
    from tfcopy.data.generated import newsgen
    from tfcopy.experiments.pairs import copynet_steps

    corpus = load_corpus(config, tokenization, folder)
    language = corpus.source_language
    limits = limits_of(config, tokenization, language)
    sizes = {
        "characters": config.character_vocabulary_size,
        "words": config.word_vocabulary_size,
    }
    tokenizer = make_tokenizer(tokenization, language)
    data = copynet_steps.prepare(
        config,
        corpus,
        tokenizer,
        os.path.join(folder, tokenization, "data"),
        max_size=sizes[tokenization],
        truncate=(limits[0], limits[1] + 1),
    )
    rate = newsgen.oov_rate(
        [summary for _, summary in data.test], data.vocabularies[1], tokenizer
    )
    print(f"{rate:.1f} % of the {tokenization} of test summaries are unknown")
    generated = config.data_dir is None
    if generated and tokenization == "words" and rate < LEAST_OOV_RATE:
        raise ValueError(
            f"--word_vocabulary_size must leave {LEAST_OOV_RATE:.0f} % of the "
            "words of test summaries unknown, or there is nothing to copy. "
            f"Received: {config.word_vocabulary_size}, which leaves "
            f"{rate:.1f} %."
        )
    return data, limits


def limits_of(config, tokenization, language):
    """The most tokens of a text, and of a summary."""
    limits = LIMITS.get((language, tokenization), (140, 32))
    return (
        config.max_source_length or limits[0],
        config.max_target_length or limits[1],
    )


def answer(translator, data):
    """Summarises the test texts.

    Returns:
        `(translations, scores)`; ROUGE of characters of Chinese, of words of
        English.
    """
    from tfcopy.evaluation import summaries, translations
    from tfcopy.experiments import reporting

    watch = reporting.Stopwatch()
    answers = translator.translate_all(source for source, _ in data.test)
    seconds = watch.seconds
    rouge = summaries.rouge
    references = [target for _, target in data.test]
    texts = [translation.text for translation in answers]
    if data.corpus.source_language == "zh":
        rouge = summaries.character_rouge
        # As answers are, which have no blanks.
        references = ["".join(text.split()) for text in references]
    scores = {
        **rouge(texts, references),
        "exact_match": translations.exact_match(texts, references),
        "unk_rate": translations.unk_rate([a.tokens for a in answers]),
        "copy_rate": translations.copy_rate([a.copied_from for a in answers]),
    }
    scores = {name: round(value, 2) for name, value in scores.items()}
    return answers, {**scores, "seconds_translating": seconds}


def print_comparison(results, tokenizations, generated):
    """A table of the systems; beside the paper's, where they compare."""
    metrics = {"R-1": "rouge1", "R-2": "rouge2", "R-L": "rougeL"}
    metrics.update({"% UNK": "unk_rate", "% copied": "copy_rate"})
    print(f"\n{'':34}" + "".join(f"{title:>10}" for title in metrics))
    rows = {
        f"{system}, {name}": scores[name]
        for name in tokenizations
        for system, scores in results.items()
    }
    if not generated:
        rows |= {
            f"{system}, {name}, paper": PAPER[system][name]
            for name in tokenizations
            for system in results
        }
    for title, scores in rows.items():
        cells = [scores.get(name) for name in metrics.values()]
        cells = ["" if x is None else f"{x:.2f}" for x in cells]
        print(f"{title:34}" + "".join(f"{cell:>10}" for cell in cells))
    if generated:
        print("Generated news: no figure of LCSTS compares with these.")


# What `serving.export --set` may change.
SEARCH_FLAGS = ("num_beams", "length_penalty", "max_target_length", "allow_unk")
SEARCH_FLAGS += ("max_source_length",)


def restore(config, system, folder, checkpoint):
    """A trained system as `run` exports it.

    Args:
        config: The recipe's config.
        system: The folders of tokenization and system, `words/copynet`.
        folder: Of the run.
        checkpoint: As of `restored.load_weights`.

    Returns:
        `restored.Servable`.
    """
    from tfcopy.experiments import restoring
    from tfcopy.experiments.pairs import copynet_steps, text_preprocessing

    tokenization, kind = system.split("/")
    known = text_preprocessing.kept(
        os.path.join(folder, tokenization, "data"),
        lambda: prepare(config, tokenization, folder)[0],
    )
    language = known.tokenizers[0].language
    limits = limits_of(config, tokenization, language)
    translator = copynet_steps.restore(
        config,
        kind,
        os.path.join(folder, system),
        checkpoint,
        known,
        max_target_length=limits[1] + 1,
        max_source_length=limits[0],
    )
    (name,) = (name for name, value in SYSTEMS.items() if value == kind)
    return restoring.servable(
        name, translator, known, tokenization=tokenization
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
