"""Translation into characters with planners (Gulcehre et al., 2017).

Sources are subwords of a byte-pair encoding that is learned first, targets are
characters. Trains an attentional decoder (baseline), one that plans its
alignments (pag) and one that repeats them (rpag), scores their translations,
draws where each attended and when it planned, and exports the best one.

    python -m tfcopy.recipes.wmt15_pag                      generated text
    python -m tfcopy.recipes.wmt15_pag --preset thorough    more of it, longer
    python -m tfcopy.recipes.wmt15_pag --train a.en a.de ...
    python -m tfcopy.recipes.wmt15_pag --preset paper       WMT 2015, by TFDS

The suffix _ln means layer normalisation: pag_ln is pag with it.
Repeating an interrupted command resumes it where it stopped.
"""

import dataclasses
import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import check_corpus, find_given_corpora
from tfcopy.experiments.pairs import corpus_flags, model_flags
from tfcopy.flags import PositiveFloat, PositiveInt

# BLEU of newstest2015 into each language; the baselines are the authors' own
# runs where they have them.
PAPER = {
    "de": {
        "baseline": {"bleu": 22.1},
        "pag": {"bleu": 22.21},
        "pag_ln": {"bleu": 22.83},
        "rpag": {"bleu": 22.45},
        "rpag_ln": {"bleu": 22.73},
    },
    "cs": {
        "baseline": {"bleu": 16.98},
        "pag": {"bleu": 16.99},
        "pag_ln": {"bleu": 18.59},
        "rpag": {"bleu": 17.79},
    },
    "fi": {
        "baseline": {"bleu": 10.93},
        "pag": {"bleu": 11.13},
        "pag_ln": {"bleu": 11.84},
        "rpag": {"bleu": 10.59},
    },
}

SYSTEMS = ("baseline", "baseline_ln", "pag", "pag_ln", "rpag", "rpag_ln")


PRESETS = {
    "demo": {
        "demo": "small",
        "systems": ["baseline", "rpag"],
        "updates": 550,
        "eval_every": 110,
    },
    "thorough": {},
    "paper": {
        "target_language": "de",
        "bpe_merges": 20_000,
        "max_target_length": 499,
        "systems": ["baseline", "pag", "pag_ln", "rpag", "rpag_ln"],
        "embedding_dim": 600,
        "units": 600,
        "baseline_embedding_dim": 512,
        "baseline_units": 1024,
        "baseline_encoder_units": 512,
        "summary_units": 64,
        "update_gate": True,
        "initializers": "dl4mt",
        "learning_rate": 3e-4,
        "baseline_learning_rate": 1e-4,
        "schedule": "constant",
        "batch_size": 64,
        "accumulate": 2,
        "baseline_clip_norm": 1.0,
        "updates": 350_000,
        "eval_every": 5_000,
        "num_beams": 15,
    },
}


@config.configuration(
    "wmt15_pag",
    presets=PRESETS,
    claims={"rpag translates better than baseline": "bleu"},
    minutes={"demo": 6, "thorough": 12},
    corpora={"paper": "WMT15, as TensorFlow Datasets has it"},
    baselines=["baseline", "baseline_ln"],
    unfinished_compete=True,
    forbid_unk=True,
    decoder="biscale",
    updates=650,
    eval_every=130,
    num_beams=5,
)
class Config(
    model_flags.PlannerConfig,
    corpus_flags.TranslationConfig,
    corpus_flags.DemoConfig,
):
    """Corpus, models, training, search, and where the results go.

    Attributes:
        bpe_merges: Number of merges of the source's byte-pair encoding.
        sentencepiece_model: SentencePiece model file for sources; learned from
            them if not given.
        source_vocabulary: Vocabulary file of source subwords; built from the
            training data if not given.
        target_vocabulary: Vocabulary file of target characters, one per line;
            built from the training data if not given.
        source_vocabulary_size: Maximum size of the source vocabulary, special
            words included; no limit if not given.
        target_vocabulary_size: Maximum size of the target vocabulary, special
            words included.
        max_source_length: Maximum length in pieces of training sources; longer
            pairs are left out.
        max_target_length: Maximum length in characters of training targets,
            beyond which pairs are left out, and of translations.
        systems: Systems to train, any of baseline, pag, rpag, and, with layer
            normalisation, baseline_ln, pag_ln, rpag_ln.
        baseline_embedding_dim: The baseline's --embedding_dim, if it differs.
        baseline_clip_norm: The baseline's --clip_norm, if it differs.
    """

    bpe_merges: PositiveInt = config.data(1_000)
    sentencepiece_model: str | None = config.file()
    source_vocabulary: str | None = config.file()
    target_vocabulary: str | None = config.file()
    source_vocabulary_size: config.VocabularySize | None = config.data.common(
        None
    )
    target_vocabulary_size: config.VocabularySize = config.data.common(304)
    max_source_length: PositiveInt = config.data.common(49)
    max_target_length: PositiveInt = config.data(120)
    systems: list[Literal[SYSTEMS]] = config.systems(
        ["baseline", "pag", "rpag"]
    )
    baseline_embedding_dim: PositiveInt | None = config.model(None)
    baseline_clip_norm: PositiveFloat | None = config.training(None)


COLUMNS = {
    **config.TRANSLATION_SCORES,
    "dev ppl": "perplexity",
    **config.SIZE_AND_TIME,
    "chars/s": "target_tokens_per_second",
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import planning, translation_systems
    from tfcopy.experiments.run import Run

    check(config)
    run = Run(config)
    data = prepare(config, run.data_folder)

    answers = {}
    for name in run.each(data.identity):
        system = planning.build(run, name, data, config.max_target_length)
        trained = planning.train(system, data)
        answers[name], scores = translation_systems.answer(
            system.served, data, corpus_flags.bleu_tokenize(config)
        )
        run.results[name] = {**trained, **scores}

    reporting.print_marked_examples(data.test, answers, range(3), "characters")
    paper = reporting.comparable_paper_scores(
        config, PAPER.get(config.target_language, {})
    )
    translation_systems.print_comparison(
        run.results,
        {name: paper[name] for name in run.results if name in paper},
        COLUMNS,
        "The paper's is on newstest2015, by multi-bleu." if paper else "",
    )
    reporting.print_lead(run.results)
    reporting.draw(run.results, run.folder, "nats per sentence")
    planning.draw_plans(run, data)
    best = translation_systems.best_on_validation(run, data)
    return run.finish(best, paper=paper, pairs=data.pairs)


def check(config):
    """Raises a ValueError that names a flag which makes no sense."""
    from tfcopy.experiments.pairs import planning

    planning.check(config)
    uses_tfds = config.tfds is not None or config.preset == "paper"
    if config.data_dir is not None and (config.train or not uses_tfds):
        raise ValueError("--data_dir needs --tfds or --preset paper.")
    check_corpus(config)


def prepare(config, folder):
    """Encodes the corpus as subwords, characters and ids: `PairData`."""
    from tfcopy.data.text.tokenization import Tokenizer
    from tfcopy.experiments.pairs import pair_data, translation_data

    if config.preset == "paper" and not find_given_corpora(config, True):
        pair = f"{config.target_language}-{config.source_language}"
        config = dataclasses.replace(config, tfds=f"wmt15_translate/{pair}")
    corpus = translation_data.load_corpus(config, size=config.demo)
    tokenizers = (
        source_tokenizer(config, corpus, folder),
        Tokenizer(mode="characters", language=config.target_language),
    )
    return pair_data.prepare(
        config,
        corpus,
        tokenizers,
        folder,
        max_length=(config.max_source_length, config.max_target_length),
        unmatched="unk",
    )


def source_tokenizer(config, corpus, folder):
    """Loads the tokenizer of sources, or learns it once."""
    from tfcopy.data import train_sentencepiece
    from tfcopy.experiments.pairs import pair_data, translation_data

    if config.sentencepiece_model is not None:
        return translation_data.sentencepiece_tokenizer(
            config.sentencepiece_model
        )
    pieces = pair_data.Pieces(
        pair_data.Sides(corpus.train, (0,)),
        config.bpe_merges,
        "--bpe_merges",
        train_sentencepiece.train_bpe,
    )
    return pair_data.learn_once(folder, "source-{}.model", corpus, pieces)


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
