"""CopyNet on LCSTS, short news and their summaries (Gu et al., 2016).

Trains an attentional encoder-decoder (rnn_context) and CopyNet (copynet) on
characters, on words, or on both; compares them by ROUGE; exports the best.
LCSTS is available from its owners on request. Without it, English news are
generated, with names that are in no vocabulary; their scores cannot be compared
with the paper's.

    python -m tfcopy.recipes.lcsts_copynet                    generated news
    python -m tfcopy.recipes.lcsts_copynet --preset thorough  trained longer
    python -m tfcopy.recipes.lcsts_copynet --data_dir LCSTS/ --preset paper

Chinese words need jieba: pip install -e ".[jieba]" in a clone. The exported
word model expects text segmented by jieba, with blanks between words. Repeating
an interrupted command resumes it where it stopped.
"""

import os
import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import from_flags
from tfcopy.experiments.pairs import corpus_flags, model_flags
from tfcopy.flags import PositiveInt

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


PRESETS = {
    "demo": {
        "dropout": 0.0,
        "learning_rate": 5e-3,
        "warmup": 50,
        "updates": 400,
        "eval_every": 100,
    },
    "thorough": {},
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
    },
}


@config.configuration(
    "lcsts_copynet",
    presets=PRESETS,
    claims={"copynet writes better summaries than rnn_context": "rouge1"},
    minutes={"demo": 4, "thorough": 12},
    unfinished_compete=True,
    forbid_unk=True,
    dropout=0.2,
    batch_size=64,
)
class Config(model_flags.CopyNetConfig, corpus_flags.CaseConfig):
    """News, model, training, search, and where the results go.

    Attributes:
        data_dir: Folder with PART_I.txt, PART_II.txt and PART_III.txt of LCSTS;
            news are generated if not given.
        num_train: Number of news items to generate for training.
        num_test: Number of news items to generate for testing, before those
            with a score below --min_score are left out.
        tokenizations: Tokenisations to train with: characters, words, or both
            in turn.
        min_score: Lowest score (1, 2, 3, 4 or 5) of the pairs of parts II and
            III that are kept.
        character_vocabulary_size: Size of the character vocabulary, special
            words included.
        word_vocabulary_size: Size of the word vocabulary, special words
            included.
        max_source_length: Texts are truncated to this many tokens; if not
            given, to 140, or to 600 for characters of English.
        max_target_length: Maximum length of a summary in tokens, without the
            end of sequence; if not given, 32, or 160 for characters of English.
        systems: Systems to train, any of rnn_context and copynet.
    """

    data_dir: str | None = config.corpus_file(corpus="place")
    num_train: PositiveInt = config.data.common(20_000)
    num_test: PositiveInt = config.data(400, fixed=False)
    tokenizations: list[Literal["characters", "words"]] = config.data.common(
        ["words"], fixed=False
    )
    min_score: Literal[1, 2, 3, 4, 5] = config.data(3)
    character_vocabulary_size: config.VocabularySize = config.data(3_000)
    word_vocabulary_size: config.VocabularySize = config.data(10_000)
    max_source_length: PositiveInt | None = config.data.common(None)
    max_target_length: PositiveInt | None = config.data(None)
    systems: list[Literal[tuple(SYSTEMS)]] = config.systems(list(SYSTEMS))


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import copynet_systems
    from tfcopy.experiments.run import Run

    copynet_systems.check(config)
    if not config.tokenizations:
        raise ValueError("--tokenizations must name characters, words or both.")
    run = Run(config)
    # All of them first, so that an error does not show after days of training.
    prepared = {
        part: prepare(config, part, run.folder) for part in config.tokenizations
    }
    for part, (data, limits) in prepared.items():
        answers = {}
        for name in run.each(data.identity, part):
            system = copynet_systems.build(
                run,
                name,
                data,
                SYSTEMS[run.kinds[name]],
                limits=(limits[0], limits[1] + 1),
                part=part,
                tokenization=part,
            )
            trained = copynet_systems.train(system, data)
            answers[name], scores = answer(system.served, data)
            run.results.setdefault(name, {})[part] = {**trained, **scores}
        reporting.print_marked_examples(data.test, answers, unit=part)

    reporting.add_means(run.results, prepared, ("rouge1", "rouge2", "rougeL"))
    generated = config.data_dir is None
    print_comparison(run.results, prepared, generated)
    if data.corpus.tokenized:
        print(
            "\nThe export expects text segmented by jieba, with blanks between "
            "words."
        )

    def score(texts, references):
        return rouge(data, texts, as_answers(data, references))["rouge1"]

    return run.finish(
        run.best_answers("rouge1", data, score, part),
        paper=PAPER,
        pairs={part: data.pairs for part, (data, _) in prepared.items()},
        corpus="generated" if generated else "LCSTS",
    )


def load_corpus(config, tokenization):
    """Loads LCSTS, or generates news with such scores."""
    from tfcopy.data.corpora import lcsts
    from tfcopy.data.generated import newsgen

    if config.data_dir is not None:
        return lcsts.load(
            config.data_dir,
            words=tokenization == "words",
            min_score=config.min_score,
        )
    return from_flags(
        newsgen.load_scored,
        config,
        num_validation=min(2_000, config.num_train),
        seed=0,
    )


def make_tokenizer(tokenization, language, lowercase):
    """Builds the tokenizer of both sides; Chinese is segmented already."""
    from tfcopy.data.text.tokenization import Tokenizer

    if tokenization == "characters":
        return Tokenizer("characters", language, lowercase)
    mode = "moses" if language == "en" else "space"
    return Tokenizer(mode, language, lowercase)


def prepare(config, tokenization, folder):
    """Encodes the corpus as ids.

    Returns:
        `(data, limits)`: `PairData`, and the most tokens of a text and of
        a summary.
    """
    from tfcopy.data.generated import newsgen
    from tfcopy.experiments.pairs import copynet_systems

    corpus = load_corpus(config, tokenization)
    language = corpus.source_language
    limits = limits_of(config, tokenization, language)
    sizes = {
        "characters": config.character_vocabulary_size,
        "words": config.word_vocabulary_size,
    }
    tokenizer = make_tokenizer(tokenization, language, config.lowercase)
    data = copynet_systems.prepare(
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
            f"--word_vocabulary_size must leave {LEAST_OOV_RATE:.0f} % of "
            "the words of test summaries unknown, or there is nothing to copy. "
            f"Received: {config.word_vocabulary_size}, which leaves "
            f"{rate:.1f} %."
        )
    return data, limits


def limits_of(config, tokenization, language):
    """Returns the maximum numbers of tokens of a text and of a summary."""
    limits = LIMITS.get((language, tokenization), (140, 32))
    return (
        config.max_source_length or limits[0],
        config.max_target_length or limits[1],
    )


def answer(translator, data):
    """Summarises the test texts.

    Returns:
        `(translations, scores)`; see `rouge` and `as_answers`.
    """
    from tfcopy.evaluation import translations
    from tfcopy.experiments.run import measure_time

    sources, targets = zip(*data.test)
    answers, seconds = measure_time(translator.translate_all, sources)
    references = as_answers(data, targets)
    texts = [translation.text for translation in answers]
    scores = {
        **rouge(data, texts, references),
        "exact_match": translations.exact_match(texts, references),
        "unk_rate": translations.unk_rate([a.tokens for a in answers]),
        "copy_rate": translations.copy_rate([a.copied_from for a in answers]),
    }
    scores = {name: round(value, 2) for name, value in scores.items()}
    return answers, {**scores, "seconds_translating": seconds}


def rouge(data, texts, references):
    """Computes ROUGE of characters in Chinese, of words in English."""
    from tfcopy.evaluation import summaries

    if data.corpus.source_language == "zh":
        return summaries.character_rouge(texts, references)
    return summaries.rouge(texts, references)


def as_answers(data, references):
    """Joins the words of Chinese references, as answers have no blanks."""
    if data.corpus.source_language != "zh":
        return references
    return ["".join(text.split()) for text in references]


def print_comparison(results, tokenizations, generated):
    """Prints a table of the systems, beside the paper's on LCSTS."""
    from tfcopy.experiments import reporting

    metrics = {"R-1": "rouge1", "R-2": "rouge2", "R-L": "rougeL"}
    metrics.update({"% UNK": "unk_rate", "% copied": "copy_rate"})
    tables = {"": results} if generated else {"": results, ", paper": PAPER}
    rows = {
        f"{system}, {name}{suffix}": table[system][name]
        for suffix, table in tables.items()
        for name in tokenizations
        for system in results
        if system in table
    }
    reporting.print_table(rows, metrics)
    if generated:
        print("Generated news: not comparable with figures on LCSTS.")


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
