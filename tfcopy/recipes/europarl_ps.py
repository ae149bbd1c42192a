"""Pointer softmax on Europarl English-French (Gulcehre et al., 2016).

Trains the paper's baseline (nmt) and the same model with a pointer softmax,
compares them, shows what was copied, and exports the better one.

    python -m tfcopy.recipes.europarl_ps                        the demo corpus
    python -m tfcopy.recipes.europarl_ps --data_dir europarl/   Europarl v7
    python -m tfcopy.recipes.europarl_ps --train '[a.en, a.fr]' your own files
    python -m tfcopy.recipes.europarl_ps --preset paper         as in the paper

Repeating an interrupted command resumes it where it stopped.
"""

import sys
from typing import Literal

from jsonargparse.typing import PositiveInt

from tfcopy.experiments import command_line, config
from tfcopy.experiments.pairs import corpus_flags, model_flags

SYSTEMS = ("nmt", "pointer_softmax")
PAPER = {"nmt": {"bleu": 20.19}, "pointer_softmax": {"bleu": 23.76}}


@config.configuration(
    "europarl_ps",
    unmatched="attention_argmax",
    embedding_dim=128,
    units=256,
    encoder_units=128,
    dropout=0.1,
    schedule="constant",
    batch_size=64,
    clip_norm=1.0,
    updates=1_500,
    patience=5,
    num_beams=5,
)
class Config(model_flags.PointerSoftmaxConfig, corpus_flags.TranslationConfig):
    """Corpus, model, training, search, and where the results go."""

    data_dir: str | None = config.data(
        None,
        "Folder with europarl-v7.fr-en.en and .fr (or fr-en.tgz); with "
        "--tfds, where TFDS keeps its datasets.",
        fixed=False,
    )
    download: bool = config.data(
        False,
        "Download Europarl into --data_dir if it is not there.",
        fixed=False,
    )
    tokenization: Literal["moses", "space", "sentencepiece"] = config.data(
        "moses",
        "moses; space for text that is already tokenised; or sentencepiece "
        "for the pieces of --sentencepiece_model, which are then what other "
        "flags call words.",
    )
    sentencepiece_model: list[str] | None = config.data(
        None,
        "One model file for both languages, or two: '[en.model, fr.model]'; "
        "tfcopy.data.train_sentencepiece trains them.",
        fixed=False,
    )
    dictionary: str | None = config.data(
        None,
        "TSV file of target words and their source translations, for pointer "
        "labels.",
        fixed=False,
    )
    output_dictionary: str | None = config.search(
        None,
        "TSV file of source words and their translations; words pointed at "
        "are translated by it where it has them.",
    )
    max_length: PositiveInt = config.data(
        50,
        "Maximum length in words of training sentences; longer pairs are "
        "left out.",
    )
    systems: list[Literal[SYSTEMS]] = config.training(
        list(SYSTEMS),
        "Systems to train, any of nmt and pointer_softmax.",
        fixed=False,
    )
    head: Literal[config.POINTING_HEADS] = config.model(
        "pointer_softmax",
        "Output head of the system that points, which is named after it: "
        "pointer_softmax, pointer_generator or copynet.",
    )
    encoder: Literal["gru", "transformer"] = config.model(
        "gru", "Encoder: gru (the paper's), or transformer."
    )
    encoder_layers: PositiveInt = config.model(
        2, "Number of blocks in a Transformer encoder."
    )
    encoder_heads: PositiveInt = config.model(
        4, "Number of attention heads per block of a Transformer encoder."
    )
    max_target_length: PositiveInt = config.search(
        60, "Maximum length of a translation, in words."
    )
    merge: Literal["max", "sum"] | None = config.search(
        None,
        "How search combines several ways to produce a word (generating, "
        "copying): max (the paper's) or sum; if not given, max with the "
        "pointer softmax and sum with other heads.",
    )


PRESETS = {
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
        "batch_size": 32,
        "normalize": "sentences",
        "updates": 500_000,
        "eval_every": 5_000,
        "patience": 10,
        "max_target_length": 200,
        "bleu_tokenize": "none",
    }
}

COLUMNS = {
    "BLEU": "bleu",
    "chrF": "chrf",
    "% UNK": "unk_rate",
    "% copied": "copy_rate",
    "dev ppl": "perplexity",
    "updates": "updates",
    "seconds": "seconds_training",
    "tokens/s": "target_tokens_per_second",
}

with command_line.late_imports(__name__, Config, PRESETS, __doc__):
    from tfcopy.decoding import SearchOptions
    from tfcopy.experiments import flag_checks, learning_curves
    from tfcopy.experiments.pairs import (
        pair_data,
        pointer_softmax_steps,
        translation_data,
        translation_scores,
        translators,
    )
    from tfcopy.experiments.run import Run


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    check(config)
    run = Run(config)
    data = prepare(config, run.data_folder)

    answers = {}
    for name in run.each(data.identity):
        head = "softmax" if name == "nmt" else config.head
        name = "nmt" if name == "nmt" else head
        system = build(run, name, head, data)
        _, trained = pointer_softmax_steps.train(system, head, data)
        answers[name], scores = translation_scores.answer(
            system.served, data, config.bleu_tokenize
        )
        run.results[name] = {**trained, **scores}
        if name == "nmt":
            run.results[name]["unk_replaced"] = translation_scores.answer(
                system.served.copy(replace_unk=True), data, config.bleu_tokenize
            )[1]

    translation_scores.print_examples(data, answers)
    note = "The paper's is on newstest2011, by multi-bleu."
    translation_scores.print_comparison(run.results, PAPER, COLUMNS, note)
    learning_curves.print_lead(run.results)
    learning_curves.draw(run.results, run.folder, "nats per sentence")
    best = translation_scores.best_on_validation(run, data)
    if data.corpus.generated:
        translation_scores.print_unseen_names(run.systems[best.system].served)
    return run.finish(best, run.results[best.system]["bleu"], paper=PAPER)


def check(config):
    """Raises an error that names a flag which makes no sense."""
    flag_checks.check_systems(config, SYSTEMS)
    pointer_softmax_steps.check(config)
    translation_data.load_dictionary(
        config.output_dictionary, "--output_dictionary"
    )


def prepare(config, folder):
    """The corpus as words and as ids, kept in a folder: `PairData`."""
    corpus = translation_data.load_corpus(
        config,
        preset=config.preset,
        download=config.download,
        tokenized=config.tokenization == "space",
        seed=config.seed,
    )
    tokenizers = translation_data.make_tokenizers(
        config.tokenization, config.sentencepiece_model, corpus
    )
    vocabularies = pair_data.count_both_vocabularies(
        config,
        corpus,
        tokenizers,
        folder,
    )
    return pair_data.prepare(
        config,
        corpus,
        tokenizers,
        vocabularies,
        folder,
        max_length=config.max_length,
        unmatched=config.unmatched,
        dictionary=translation_data.load_dictionary(
            config.dictionary, "--dictionary"
        ),
    )


def build(run, name, head, data):
    """A system, text in and text out."""
    config = run.config
    merge = "max" if head == "pointer_softmax" else "sum"
    options = SearchOptions(
        num_beams=config.num_beams,
        same_in_every_batch=config.same_in_every_batch,
        max_length=config.max_target_length,
        length_penalty=config.length_penalty,
        unfinished_compete=config.unfinished_compete,
        merge=config.merge or merge,
    )

    def make_model():
        return pointer_softmax_steps.make_model(
            config,
            data,
            head,
            encoder=config.encoder,
            encoder_layers=config.encoder_layers,
            encoder_heads=config.encoder_heads,
        )

    def make_translator(model):
        return translators.make_translator(
            model,
            data,
            options,
            dictionary=translation_data.load_dictionary(
                config.output_dictionary, "--output_dictionary"
            ),
            candidate_ids=translation_data.search_candidates(config, data),
            shortlist=translation_data.shortlist(config, data),
        )

    return run.build(
        name,
        make_model,
        make_translator,
        data.examples,
        make_trained=lambda model: pointer_softmax_steps.make_trained(
            config, model
        ),
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
