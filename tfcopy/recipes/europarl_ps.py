"""Pointer softmax on Europarl English-French (Gulcehre et al., 2016).

Trains the paper's baseline (nmt) and the same model with a pointer softmax,
compares them, shows what was copied, and exports the better one.

    python -m tfcopy.recipes.europarl_ps                        a small demo
    python -m tfcopy.recipes.europarl_ps --preset thorough      a larger one
    python -m tfcopy.recipes.europarl_ps --data_dir europarl/   Europarl v7
    python -m tfcopy.recipes.europarl_ps --train a.en a.fr       your own files
    python -m tfcopy.recipes.europarl_ps --preset paper         as in the paper

Repeating an interrupted command resumes it where it stopped.
"""

import sys

from tfcopy.experiments import command_line, config
from tfcopy.experiments.pairs import corpus_flags

PAPER = {"nmt": {"bleu": 20.19}, "pointer_softmax": {"bleu": 23.76}}


PRESETS = {
    "demo": {
        "demo": "small",
        "units": 128,
        "encoder_units": 64,
        "dropout": 0.0,
        "source_vocabulary_size": 1_100,
        "target_vocabulary_size": 1_100,
        "learning_rate": 5e-3,
        "warmup": 60,
        "updates": 1_700,
        "eval_every": 425,
    },
    "thorough": {},
    "paper": {
        "source_vocabulary_size": 30_000,
        "target_vocabulary_size": 30_000,
        "embedding_dim": 512,
        "units": 1024,
        "encoder_units": None,
        "dropout": 0.0,
        "initializers": "dl4mt",
        "optimizer": "adadelta",
        "learning_rate": 1.0,
        "schedule": "constant",
        "batch_size": 32,
        "normalize": "sentences",
        "updates": 500_000,
        "eval_every": 5_000,
        "patience": 10,
        "max_target_length": 200,
        "bleu_tokenize": "none",
    },
}


@config.configuration(
    "europarl_ps",
    presets=PRESETS,
    claims={"pointer_softmax translates better than nmt": "bleu"},
    minutes={"demo": 4, "thorough": 13},
    corpora={"paper": "Europarl v7"},
    unmatched="attention_argmax",
    embedding_dim=128,
    units=256,
    encoder_units=128,
    dropout=0.1,
    schedule="linear",
    batch_size=64,
    clip_norm=1.0,
    updates=5_000,
    patience=5,
    num_beams=5,
)
class Config(corpus_flags.TranslatorConfig, corpus_flags.DemoConfig):
    """Corpus, model, training, search, and where the results go.

    Attributes:
        data_dir: Folder with europarl-v7.fr-en.en and .fr (or fr-en.tgz); with
            --tfds, where TFDS keeps its datasets.
        download: Download Europarl into --data_dir if it is not there.
    """

    download: bool = config.data(
        False, fixed=False, corpus="place", of_preset=True
    )


COLUMNS = {
    **config.TRANSLATION_SCORES,
    "% UNK": "unk_rate",
    "% copied": "copy_rate",
    "dev ppl": "perplexity",
    **config.TIME,
    "tokens/s": "target_tokens_per_second",
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.data.generated import demo_parliament
    from tfcopy.experiments.pairs import translation_systems

    examples = demo_parliament.examples()
    return translation_systems.run(
        config,
        prepare,
        COLUMNS,
        paper=PAPER,
        note="The paper's is on newstest2011, by multi-bleu.",
        examples=("Names that the model has never seen", examples),
    )


def prepare(config, folder):
    """Encodes the corpus as words and ids, kept in a folder: `PairData`."""
    from tfcopy.experiments.pairs import translation_data, translation_systems

    corpus = translation_data.load_corpus(
        config,
        download=config.download,
        tokenized=config.tokenization == "space",
        size=config.demo,
    )
    return translation_systems.prepare(config, corpus, folder)


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
