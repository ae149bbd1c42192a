"""Documentation and catalogues translated without breaking their markup.

Trains a baseline (nmt) and a model that points at code, links and placeholders
instead of translating them, compares how much markup they keep, and exports
the better one. Text is cut into subwords; each span of markup is one word.

    python -m tfcopy.recipes.pydocs_ps                       a demo catalogue
    python -m tfcopy.recipes.pydocs_ps --preset thorough     trained longer
    python -m tfcopy.recipes.pydocs_ps --catalogs locale     gettext catalogues
    python -m tfcopy.recipes.pydocs_ps --train a.en a.es     your own files
    python -m tfcopy.recipes.pydocs_ps --train memory.tmx    TMX or XLIFF
    python -m tfcopy.recipes.pydocs_ps --preset full         larger models

Fill the catalogues of a translation team with what was exported:

    python -m tfcopy.serving.translate_po savedmodels/pydocs_ps locale

Repeating an interrupted command resumes it where it stopped.
"""

import sys

from tfcopy.experiments import command_line, config
from tfcopy.experiments.pairs import corpus_flags

PRESETS = {
    "demo": corpus_flags.DEMO_CATALOGS,
    "thorough": {},
    "full": {
        **corpus_flags.LARGE_CATALOGS,
        "schedule": "linear",
        "batch_size": 32,
        "updates": 6_000,
    },
}


@config.configuration(
    "pydocs_ps",
    presets=PRESETS,
    claims={"pointer_softmax keeps more spans than nmt": "spans_kept"},
    minutes={"demo": 5, "thorough": 9},
    target_language="es",
    tokenization="sentencepiece",
    pieces=1_000,
    protect=["rst", "html", "placeholders"],
    must_copy=True,
    unmatched="attention_argmax",
    embedding_dim=128,
    units=256,
    encoder_units=128,
    dropout=0.1,
    schedule="constant",
    batch_size=64,
    clip_norm=1.0,
    updates=800,
    patience=5,
    num_beams=5,
)
class Config(corpus_flags.TranslatorConfig):
    """Corpus, model, training, search, and where the results go."""


COLUMNS = {
    **config.TRANSLATION_SCORES,
    "% spans kept": "spans_kept",
    "% texts with all": "texts_kept",
    "% UNK": "unk_rate",
    "dev ppl": "perplexity",
    **config.TIME,
    "tokens/s": "target_tokens_per_second",
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.experiments.pairs import translation_systems

    if config.data_dir is not None and config.tfds is None:
        raise ValueError("--data_dir needs --tfds.")
    return translation_systems.run_catalogs(config, prepare, COLUMNS)


def prepare(config, folder):
    """Encodes the corpus as subwords, spans and ids: `PairData`."""
    from tfcopy.data.generated import demo_catalogs
    from tfcopy.experiments.pairs import translation_data, translation_systems

    corpus = translation_data.load_corpus(
        config, demo_catalogs, tokenized=config.tokenization == "space"
    )
    return translation_systems.prepare(config, corpus, folder)


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
