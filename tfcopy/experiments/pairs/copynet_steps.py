"""What recipes with CopyNet do alike: vocabulary, training, n-best scores.

Functions, not a base class: a recipe calls those it needs.
"""

import os

import keras
import tensorflow as tf

from tfcopy import losses, tokens, training
from tfcopy.data.pairs import encoding, pipeline
from tfcopy.data.text import vocabulary
from tfcopy.decoding import SearchOptions
from tfcopy.experiments import reporting, restoring
from tfcopy.layers import copying
from tfcopy.models import copynet
from tfcopy.serving.servables.translator import Translator


def prepare(
    config, corpus, tokenizer, folder, max_size=None, min_count=1, truncate=None
):
    """Counts words, and turns the corpus into ids; both are remembered.

    Both sides share one vocabulary, counted on the training split. The mark
    at the end of a source, if wanted, can be looked at but not copied.

    Args:
        config: The recipe's config.
        corpus: `TranslationCorpus`.
        tokenizer: `Tokenizer` of both sides.
        folder: Where vocabulary and ids are kept.
        max_size: Largest size of the vocabulary; `None` for no limit.
        min_count: Rarer words are left out.
        truncate: Most words of a source and of a target, or `None`.

    Returns:
        `common.Data`.
    """

    def make():
        counts = vocabulary.count_words(corpus.train, (tokenizer, tokenizer))
        both = counts[0] + counts[1]
        return [vocabulary.Vocabulary.build(both, max_size, min_count)]

    parts = [corpus.fingerprint, tokenizer.fingerprint, max_size, min_count]
    path = os.path.join(folder, "vocabulary.txt")
    (words,) = reporting.make_once([path], parts, make)
    encoded = {
        name: encoding.encode(
            corpus.splits[name],
            words,
            words,
            source_tokenizer=tokenizer,
            target_tokenizer=tokenizer,
            max_length=None,
            truncate=truncate,
            append_eos=config.end_mark,
            unmatched="unk",
            cache_dir=folder,
            name=name,
        )
        for name in ("train", "validation")
    }
    data = reporting.Data(
        corpus=corpus,
        tokenizers=(tokenizer, tokenizer),
        vocabularies=(words, words),
        **encoded,
        test=[tuple(map(reporting.as_text, pair)) for pair in corpus.test],
    )
    data.words.save(folder)
    print(
        f"{corpus.name}: {len(data.train):,} pairs to train on,"
        f" {len(data.validation):,} to validate, {len(data.test):,} to test;"
        f" {words.size:,} words"
    )
    if len(data.train) < config.batch_size:
        raise ValueError(
            f"--batch_size must be at most {len(data.train)}, the number of "
            f"pairs to train on. Received: {config.batch_size}."
        )
    return data


def build_model(config, data, system, strategy):
    """The system's model, the same at each start."""
    keras.utils.set_random_seed(config.seed)
    size = data.vocabularies[0].size
    with strategy.scope():
        return copynet(
            size,
            size,
            system=system,
            embedding_dim=config.embedding_dim,
            units=config.units,
            attention_units=config.attention_units,
            position_one_hot=config.position_one_hot,
            coverage=config.coverage,
            deep_readout=config.deep_readout,
            dropout=config.dropout,
            initializers=config.initializers,
            seed=config.seed,
        )


# Flags that a run may not change half-way; the sizes show in the weights.
FIXED = ("dropout", "initializers", "seed", "optimizer", "learning_rate")
FIXED += ("schedule", "batch_size", "accumulate", "clip_norm")
FIXED += ("pad_multiple", "precision", "updates")


def train(
    config,
    system,
    model,
    translator,
    data,
    folder,
    *,
    head=None,
    metrics=None,
    penalty=None,
    fixed=FIXED,
):
    """Trains a system, or goes on training it; returns its results.

    The loss is summed over a sentence, and its mean over sentences taken.

    Args:
        config: The recipe's config.
        system: Name of the system.
        model: Its model.
        translator: Of that model.
        data: `common.Data`.
        folder: Of the run.
        head: Name of the head; the system's own if `None`.
        metrics: As of `Trainer`; the mean probability to copy if `None`.
        penalty: As of `Trainer`.
        fixed: Flags that a run may not change half-way.
    """
    head = head or ("copynet" if system == "copynet" else "softmax")
    log_dir = os.path.join(folder, system)
    dev = pipeline.evaluation_batches(
        data.validation, config.batch_size, pad_multiple=config.pad_multiple
    )
    dev = dev.map(lambda batch: {name: batch[name] for name in reporting.BATCH})
    trainer = training.Trainer(
        model,
        losses.OF_HEAD[head],
        reporting.optimizer(config, config.updates),
        reporting.batches(config, data.train, config.seed),
        dev,
        log_dir,
        metrics=metrics or _metrics,
        penalty=penalty,
        on_eval=reporting.Pictures(
            translator, data.corpus.splits["validation"]
        ),
        steps=config.updates,
        normalize="sentences",
        accumulate=config.accumulate,
        clip_norm=config.clip_norm,
        eval_every=config.eval_every,
        patience=config.patience,
        seed=config.seed,
        fresh=config.fresh,
        identity={
            **data.identity,
            "system": system,
            **{f"--{flag}": getattr(config, flag) for flag in fixed},
        },
    )
    result = trainer.fit()
    reporting.log_embeddings(model, data, log_dir)
    return {
        "parameters": reporting.num_parameters(model),
        "updates": result.updates,
        "perplexity": result.best_dev_perplexity,
        "seconds_training": round(result.seconds, 1),
        "target_tokens_per_second": round(result.target_tokens_per_second),
    }


def _metrics(batch, distribution):
    """Mean probability that a word is copied."""
    mask = tf.cast(batch["target_ids"] != tokens.PAD, tf.float32)
    copied = copying.copied_mass(distribution) * mask
    return {"copy_probability": tf.reduce_sum(copied) / tf.reduce_sum(mask)}


def build_translator(config, model, data, max_target_length=None, **options):
    """Text in, text out, with the system's model.

    Args:
        config: The recipe's config.
        model: The system's.
        data: `common.Data`.
        max_target_length: Most tokens of an answer, with its end; that of the
            config if not given.
        options: More arguments of `Translator`.
    """
    search = SearchOptions(
        num_beams=config.num_beams,
        max_length=max_target_length or config.max_target_length,
        length_penalty=config.length_penalty,
        forbid_unk=not config.allow_unk,
        rescale=True,
    )
    return Translator(
        model,
        *data.vocabularies,
        source_tokenizer=data.tokenizers[0],
        target_tokenizer=data.tokenizers[1],
        options=search,
        append_eos=config.end_mark,
        **options,
    )


def restore(config, system, folder, checkpoint, words, **options):
    """The translator of a system that was trained.

    Args:
        config: The recipe's config.
        system: Name of the system.
        folder: Of the system.
        checkpoint: As of `restored.load_weights`.
        words: `Words`.
        options: More arguments of `build_translator`.
    """
    model = build_model(config, words, system, tf.distribute.get_strategy())
    restoring.load_weights(model, folder, checkpoint, words.identity)
    return build_translator(config, model, words, **options)
