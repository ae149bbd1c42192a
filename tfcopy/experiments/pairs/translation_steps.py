"""What recipes that translate do alike: corpora, training, scores.

Functions, not a base class: a recipe calls those it needs.
"""

import os

import keras
import numpy as np
import tensorflow as tf

from tfcopy import losses, tokens, training
from tfcopy.data.corpora import europarl, text_pairs, tfds_translation
from tfcopy.data.generated import demo_parliament
from tfcopy.data.pairs import encoding, pipeline, sampled_vocabulary
from tfcopy.data.text import vocabulary
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.evaluation import translations as evaluation
from tfcopy.experiments import learning_curves, reporting
from tfcopy.layers import copying


def check(config, systems):
    """Raises a ValueError that names a flag which makes no sense.

    What would otherwise be found out after the first system has been trained,
    or never.
    """
    reporting.check_systems(config, systems)
    for flag in ("source_vocabulary_size", "target_vocabulary_size"):
        check_size(config, flag)
    for flag in ("validation", "test"):
        if getattr(config, flag) is not None and config.train is None:
            raise ValueError(f"--{flag} needs --train as well.")


def check_pointing(config):
    """The same of flags that only models which may point have."""
    for flag in ("candidates", "search_candidates"):
        check_size(config, flag)
    check_activation(config, "switch_activation")


def check_size(config, flag):
    """Raises a ValueError if a number of words leaves no place for words."""
    size, least = getattr(config, flag), len(tokens.SPECIAL_TOKENS)
    if size is not None and size <= least:
        raise ValueError(
            f"--{flag} must be above {least}, the number of special words. "
            f"Received: {size}."
        )


def check_activation(config, flag):
    """Raises a ValueError if a flag names no activation."""
    name = getattr(config, flag)
    if name == "noisy_tanh":
        return
    try:
        keras.activations.get(name)
    except ValueError:
        raise ValueError(
            f"--{flag} must be noisy_tanh or the name of a Keras activation. "
            f"Received: {name}."
        ) from None


def load_dictionary(config, flag):
    """The `Dictionary` of the file that a flag names, if it does."""
    path = getattr(config, flag)
    return path and reporting.load_file(Dictionary, path, f"--{flag}")


def load_corpus(config):
    """The corpus that the flags ask for.

    `--train` names two files, `--tfds` a dataset, `--data_dir` a folder with
    Europarl; without any of them the demo corpus is generated.
    """
    languages = {
        "source_language": config.source_language,
        "target_language": config.target_language,
    }
    given = [
        flag
        for flag in ("train", "tfds", "data_dir")
        if getattr(config, flag) is not None
    ]
    if len(given) > 1 and given != ["tfds", "data_dir"]:
        raise ValueError(
            "Only one of --train, --tfds and --data_dir can name the corpus. "
            f"Received: {', '.join('--' + flag for flag in given)}."
        )
    if config.train is not None:
        return text_pairs.load(
            reporting.file_pair(config.train, "--train"),
            reporting.file_pair(config.validation, "--validation"),
            reporting.file_pair(config.test, "--test"),
            tokenized=config.tokenization == "space",
            seed=config.seed,
            **languages,
        )
    if config.tfds is not None:
        return tfds_translation.load(config.tfds, config.data_dir, **languages)
    wants_europarl = config.download or config.preset == "paper"
    if config.data_dir is not None or wants_europarl:
        return europarl.load(
            config.data_dir or "data/europarl",
            download=config.download,
            seed=config.seed,
            **languages,
        )
    if set(languages.values()) != {"en", "fr"}:
        raise ValueError(
            "The demo corpus is English (en) and French (fr). Received: "
            f"--source_language {config.source_language} "
            f"--target_language {config.target_language}."
        )
    return demo_parliament.load(source_language=config.source_language)


def prepare(config, corpus, tokenizers, folder, **options):
    """Counts words, and turns the corpus into ids; both are remembered.

    Args:
        config: The recipe's config.
        corpus: `TranslationCorpus`.
        tokenizers: Of the source and of the target.
        folder: Where vocabularies and ids are kept.
        options: More arguments of `encoding.encode`.

    Returns:
        `common.Data`.
    """
    vocabularies = _vocabularies(config, corpus, tokenizers, folder)
    train, validation = (
        encoding.encode(
            corpus.splits[name],
            *vocabularies,
            source_tokenizer=tokenizers[0],
            target_tokenizer=tokenizers[1],
            max_length=config.max_length,
            cache_dir=folder,
            name=name,
            **options,
        )
        for name in ("train", "validation")
    )
    data = reporting.Data(
        corpus=corpus,
        tokenizers=tokenizers,
        vocabularies=vocabularies,
        train=train,
        validation=validation,
        # Nothing is left out of a test set for its length.
        test=[pair for pair in corpus.test if pair[0].strip()],
    )
    data.words.save(folder)
    left_out = data.train.num_empty + data.train.num_too_long
    print(
        f"{corpus.name}: {len(data.train):,} pairs to train on"
        f" ({left_out:,} left out: {data.train.num_empty:,} empty,"
        f" {data.train.num_too_long:,} longer than {config.max_length}),"
        f" {len(data.validation):,} to validate, {len(data.test):,} to test;"
        f" {vocabularies[0].size:,} and {vocabularies[1].size:,} words"
    )
    if len(data.train) < config.batch_size:
        raise ValueError(
            f"--batch_size must be at most {len(data.train)}, the number of "
            f"pairs to train on. Received: {config.batch_size}."
        )
    return data


def tokenizers(config, corpus):
    """Those of the source and of the target that the flags ask for."""
    files = config.sentencepiece_model or []
    if config.tokenization == "sentencepiece":
        if len(files) not in (1, 2):
            raise ValueError(
                "--tokenization sentencepiece takes one or two files as "
                f"--sentencepiece_model '[FILE]'. Received: {files}."
            )
        made = [sentencepiece_tokenizer(file) for file in files]
        return made[0], made[-1]
    if files:
        raise ValueError(
            "--sentencepiece_model needs --tokenization sentencepiece."
        )
    mode = "space" if corpus.tokenized else config.tokenization
    return tuple(
        Tokenizer(mode=mode, language=language)
        for language in (corpus.source_language, corpus.target_language)
    )


def sentencepiece_tokenizer(file):
    """That of a file; an error names the flag."""
    tokenizer = SentencepieceTokenizer(file)
    try:
        tokenizer.tokenize(tf.constant([""]))
    except OSError as error:
        raise OSError(
            f"--sentencepiece_model: cannot read {file} "
            f"({error.strerror or error})."
        ) from error
    except ValueError as error:
        raise ValueError(f"--sentencepiece_model: {error}") from error
    return tokenizer


def _vocabularies(config, corpus, tokenizers, folder):
    sizes = config.source_vocabulary_size, config.target_vocabulary_size
    sides = "source", "target"
    flags = [f"{side}_vocabulary" for side in sides]
    given = [
        getattr(config, flag)
        and reporting.load_file(
            vocabulary.Vocabulary, getattr(config, flag), f"--{flag}"
        )
        for flag in flags
    ]

    def make():
        if all(given):
            return given
        counts = vocabulary.count_words(corpus.train, tokenizers)
        return [
            words or vocabulary.Vocabulary.build(count, size)
            for words, count, size in zip(given, counts, sizes)
        ]

    return reporting.make_once(
        [os.path.join(folder, f"vocabulary.{side}.txt") for side in sides],
        [
            corpus.fingerprint,
            [tokenizer.fingerprint for tokenizer in tokenizers],
            sizes,
            [words and words.words for words in given],
        ],
        make,
    )


def search_candidates(config, data):
    """Ids of the words that search generates; `None` for all."""
    count = config.search_candidates
    size = data.vocabularies[1].size
    return None if count is None else np.arange(min(count, size), dtype="int32")


def copy_metrics(batch, distribution):
    """Share of words the labels copy, and the mean probability to copy."""
    mask = tf.cast(batch["target_ids"] != 0, tf.float32)
    total = tf.reduce_sum(mask)
    labelled = tf.cast(batch["pointers"] != -1, tf.float32)
    copied = copying.copied_mass(distribution)
    return {
        "copied_words": tf.reduce_sum(labelled * mask) / total,
        "copy_probability": tf.reduce_sum(copied * mask) / total,
    }


def train(config, system, head, model, data, log_dir, on_eval=None):
    """Trains a model, or goes on training; returns the `Trainer`'s result.

    The baseline, which cannot point, generates UNK for every OOV word.
    """
    dev = pipeline.evaluation_batches(
        data.validation, config.batch_size, pad_multiple=config.pad_multiple
    )
    dev = dev.map(lambda batch: {name: batch[name] for name in reporting.BATCH})
    loss, restrict = losses.OF_HEAD[head], lambda dataset: dataset
    if config.candidates is not None:
        size = data.vocabularies[1].size
        model = as_trained(config, model)
        loss = losses.restricted(loss, size)
        dev = sampled_vocabulary.with_candidates(dev, size)

        def restrict(dataset):
            return sampled_vocabulary.with_candidates(
                dataset, size, config.candidates, config.candidates_from
            )

    trainer = training.Trainer(
        model,
        loss,
        reporting.optimizer(config),
        reporting.batches(config, data.train, config.seed, restrict),
        dev,
        log_dir,
        metrics=None if head == "softmax" else copy_metrics,
        on_eval=on_eval,
        steps=config.updates,
        accumulate=config.accumulate,
        normalize=config.normalize,
        clip_norm=config.clip_norm,
        eval_every=config.eval_every,
        patience=config.patience,
        seed=config.seed,
        fresh=config.fresh,
        identity={**data.identity, "system": system, **_identity(config)},
    )
    return trainer.fit()


def as_trained(config, model):
    """The model in the form that is trained, whose weights are kept."""
    if config.candidates is None:
        return model
    with training.strategy_of(model).scope():
        return model.with_candidates()


# Flags that a run may not change half-way; the sizes show in the weights.
_FIXED = ("dropout", "initializers", "switch_activation", "seed", "unmatched")
_FIXED += ("optimizer", "learning_rate", "batch_size", "accumulate")
_FIXED += ("normalize", "clip_norm", "pad_multiple", "precision")
_FIXED += ("candidates", "candidates_from")


def _identity(config):
    return {f"--{flag}": getattr(config, flag) for flag in _FIXED}


def train_and_score(config, system, head, model, translator, data, folder):
    """Trains a system and translates the test set.

    Args:
        config: The recipe's config.
        system: Name of the system.
        head: Name of its head.
        model: Its model.
        translator: Of that model.
        data: `common.Data`.
        folder: Of the run.

    Returns:
        `(results, translations)`: the system's part of results.json, and a
        `Translation` for each sentence.
    """
    log_dir = os.path.join(folder, system)
    pictures = reporting.Pictures(translator, data.corpus.splits["validation"])
    trained = train(config, system, head, model, data, log_dir, pictures)
    reporting.log_embeddings(model, data, log_dir)
    watch = reporting.Stopwatch()
    translations = translator.translate_all(pair[0] for pair in data.test)
    results = {
        "parameters": reporting.num_parameters(model),
        "updates": trained.updates,
        **score(config, translations, data),
    }
    if system == "nmt":
        replaced = translator.copy(replace_unk=True)
        answers = replaced.translate_all(pair[0] for pair in data.test)
        results["unk_replaced"] = score(config, answers, data)
    return {
        **results,
        "perplexity": trained.best_dev_perplexity,
        "history": learning_curves.history(log_dir, data.validation),
        "seconds_training": round(trained.seconds, 1),
        "seconds_translating": watch.seconds,
        "target_tokens_per_second": round(trained.target_tokens_per_second),
    }, translations


def score(config, translations, data):
    """The metrics of the test set's translations."""
    texts = [answer.text for answer in translations]
    references = [pair[1] for pair in data.test]
    bleu = evaluation.bleu(texts, references, config.bleu_tokenize)
    chrf = evaluation.chrf(texts, references)
    return {
        "bleu": round(bleu["score"], 2),
        "bleu_signature": bleu["signature"],
        "chrf": round(chrf["score"], 2),
        "error_rate": round(evaluation.error_rate(texts, references), 2),
        "unk_rate": round(
            evaluation.unk_rate([answer.tokens for answer in translations]), 2
        ),
        "copy_rate": round(
            evaluation.copy_rate([a.copied_from for a in translations]), 2
        ),
    }


def print_examples(data, answers, count=4):
    """Shows translations of sentences with copied words, marked [so]."""
    chosen = [
        i
        for i in range(len(data.test))
        if any(
            place >= 0
            for translations in answers.values()
            for place in translations[i].copied_from
        )
    ]
    rows = chosen[:count] or range(count)
    reporting.print_marked_examples(data.test, answers, rows, "words")


def print_comparison(results, paper):
    """A table of the systems, and what the paper reports."""
    columns = {
        "BLEU": "bleu",
        "chrF": "chrf",
        "% UNK": "unk_rate",
        "% copied": "copy_rate",
        "dev ppl": "perplexity",
        "updates": "updates",
        "seconds": "seconds_training",
        "tokens/s": "target_tokens_per_second",
    }
    rows = dict(results)
    for system, scores in results.items():
        if "unk_replaced" in scores:
            rows[f"{system}, UNK replaced"] = scores["unk_replaced"]
    rows |= {f"{system}, paper": scores for system, scores in paper.items()}
    reporting.print_table(rows, columns)
    signature = next(iter(results.values()))["bleu_signature"]
    print(f"BLEU: {signature}. The paper's is of newstest2011, multi-bleu.")


def print_unseen_names(translator):
    """Shows that names never seen come back as typed."""
    print("\nNames that the model has never seen:")
    pairs = demo_parliament.examples()
    for answer, pair in zip(
        translator.translate_all([pair[0] for pair in pairs], progress=False),
        pairs,
    ):
        print(f"\n  {pair[0]}\n  {answer.text}")
