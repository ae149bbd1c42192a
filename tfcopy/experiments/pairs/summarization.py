"""What recipes that summarise do alike: corpora, training, scores.

Functions and a test set, not a base class: a recipe uses what it needs.
"""

import itertools
import os

import tensorflow as tf

from tfcopy import losses, tokens, training
from tfcopy.data import chunks
from tfcopy.data.corpora import (
    cnn_dailymail,
    gigaword,
    tables,
    text_pairs,
    tfds_texts,
)
from tfcopy.data.generated import demo_news
from tfcopy.data.pairs import encoding, pipeline
from tfcopy.data.text import vocabulary
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.evaluation import summaries as summaries
from tfcopy.evaluation import translations
from tfcopy.experiments import reporting

_VALIDATION = 200  # articles that choose the system to export


def check(config, systems):
    """Raises a ValueError that names a flag which makes no sense."""
    reporting.check_systems(config, systems)
    if config.vocabulary_size <= len(tokens.SPECIAL_TOKENS):
        raise ValueError(
            f"--vocabulary_size must be above {len(tokens.SPECIAL_TOKENS)}, "
            f"the number of special words. Received: {config.vocabulary_size}."
        )
    for flag in ("validation", "test"):
        if getattr(config, flag) is not None and config.train is None:
            raise ValueError(f"--{flag} needs --train as well.")
    check_shared(config)


def check_shared(config):
    """The part of it for recipes with other systems and vocabularies."""
    if config.min_summary_length >= config.max_summary_length:
        raise ValueError(
            "--min_summary_length must be below --max_summary_length "
            f"({config.max_summary_length}). "
            f"Received: {config.min_summary_length}."
        )
    for flag in ("source_column", "target_column"):
        named = config.train is not None or config.tfds is not None
        if getattr(config, flag) is not None and not named:
            raise ValueError(f"--{flag} needs --train or --tfds as well.")


def load_corpus(config, demo=demo_news):
    """The corpus that the flags ask for.

    Args:
        config: The recipe's config.
        demo: Module of the corpus that is generated without any.
    """
    flags = [x for x in ("train", "bin_dir", "tfds") if hasattr(config, x)]
    given = [flag for flag in flags if getattr(config, flag) is not None]
    if config.preset == "paper" and len(given) > 1:
        given.remove("tfds")  # the preset's own
    if len(given) > 1:
        *first, last = (f"--{flag}" for flag in flags)
        raise ValueError(
            f"Only one of {', '.join(first)} and {last} can name the corpus. "
            f"Received: {', '.join('--' + flag for flag in given)}."
        )
    if given == ["train"]:
        return _load_files(config)
    if given == ["bin_dir"]:
        return cnn_dailymail.load_bin(config.bin_dir)
    if given == ["tfds"]:
        return _load_tfds(config)
    return demo.load()


def _load_tfds(config):
    columns = config.source_column, config.target_column
    name, _, version = config.tfds.partition(":")
    known = {"cnn_dailymail": cnn_dailymail, "gigaword": gigaword}
    if name in known and columns == (None, None):
        options = {"version": version} if version else {}
        return known[name].load(config.data_dir, **options)
    return tfds_texts.load(
        config.tfds,
        config.data_dir,
        source_feature=config.source_column,
        target_feature=config.target_column,
    )


def _load_files(config):
    options = {
        "tokenized": config.tokenization == "space",
        "seed": config.seed,
    }
    if len(config.train) == 1:
        files = [
            _table(getattr(config, flag), f"--{flag}")
            for flag in ("train", "validation", "test")
        ]
        for flag in ("source_column", "target_column"):
            if getattr(config, flag) is None:
                raise ValueError(f"A table needs --{flag}.")
        return tables.load(
            *files,
            source_column=config.source_column,
            target_column=config.target_column,
            **options,
        )
    return text_pairs.load(
        reporting.file_pair(config.train, "--train"),
        reporting.file_pair(config.validation, "--validation"),
        reporting.file_pair(config.test, "--test"),
        source_language="en",
        target_language="en",
        **options,
    )


def _table(files, flag):
    if files is None:
        return None
    if len(files) != 1:
        raise ValueError(
            f"{flag} takes one table, as --train does: {flag} '[a.csv]'. "
            f"Received: {files}."
        )
    return files[0]


def prepare(config, folder):
    """Counts words, and turns the corpus into ids; both are remembered.

    Both sides share one vocabulary, and what is too long is cut.

    Args:
        config: The recipe's config.
        folder: Where vocabulary and ids are kept.

    Returns:
        `common.Data`.
    """
    corpus = load_corpus(config)
    tokenizer = Tokenizer(
        mode="space" if corpus.tokenized else config.tokenization,
        language="en",
        lowercase=config.lowercase,
    )
    words = _vocabulary(config, corpus, tokenizer, folder)
    encoded = {
        name: encoding.encode(
            corpus.splits[name],
            words,
            words,
            source_tokenizer=tokenizer,
            target_tokenizer=tokenizer,
            max_length=None,
            truncate=(config.max_source_length, config.max_target_length),
            append_eos=False,
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
        test=[pair for pair in corpus.test if pair[0].strip()],
    )
    data.words.save(folder)
    print(
        f"{corpus.name}: {len(data.train):,} pairs to train on"
        f" ({data.train.num_empty:,} left out, a side being empty),"
        f" {len(data.validation):,} to validate, {len(data.test):,} to test;"
        f" {words.size:,} words"
    )
    if len(data.train) < config.batch_size:
        raise ValueError(
            f"--batch_size must be at most {len(data.train)}, the number of "
            f"pairs to train on. Received: {config.batch_size}."
        )
    return data


def _vocabulary(config, corpus, tokenizer, folder):
    given = config.vocabulary and reporting.load_file(
        vocabulary.Vocabulary, config.vocabulary, "--vocabulary"
    )

    def make():
        if given:
            return [given]
        counts = vocabulary.count_words(corpus.train, (tokenizer, tokenizer))
        both = counts[0] + counts[1]
        return [vocabulary.Vocabulary.build(both, config.vocabulary_size)]

    (words,) = reporting.make_once(
        [os.path.join(folder, "vocabulary.txt")],
        [
            corpus.fingerprint,
            tokenizer.fingerprint,
            config.vocabulary_size,
            given and given.words,
        ],
        make,
    )
    return words


# Flags that a run may not change half-way; the sizes show in the weights.
_FIXED = ("dropout", "initializers", "seed", "optimizer", "learning_rate")
_FIXED += ("schedule",)
_FIXED += ("batch_size", "accumulate", "normalize", "clip_norm", "pad_multiple")
_FIXED += ("precision", "coverage_weight", "coverage_start_step", "head")


def train(config, system, model, loss, translator, data, folder, **options):
    """Trains a system, or goes on training it.

    Args:
        config: The recipe's config.
        system: Its name.
        model: Its model.
        loss: Of `losses`.
        translator: Of that model, for pictures.
        data: `common.Data`.
        folder: Of the run.
        options: More arguments of `Trainer`.

    Returns:
        Dict of its results.
    """
    log_dir = os.path.join(folder, system)
    dev = pipeline.evaluation_batches(
        data.validation, config.batch_size, pad_multiple=config.pad_multiple
    )
    dev = dev.map(lambda batch: {name: batch[name] for name in reporting.BATCH})
    trainer = training.Trainer(
        model,
        loss,
        reporting.optimizer(config, options["steps"]),
        reporting.batches(config, data.train, config.seed),
        dev,
        log_dir,
        metrics=_metrics,
        on_eval=reporting.Pictures(
            translator, data.corpus.splits["validation"]
        ),
        accumulate=config.accumulate,
        clip_norm=config.clip_norm,
        eval_every=config.eval_every,
        patience=config.patience,
        seed=config.seed,
        fresh=config.fresh,
        identity={
            **data.identity,
            "system": system,
            **{f"--{flag}": getattr(config, flag) for flag in _FIXED},
        },
        **options,
    )
    result = trainer.fit()
    scores = trainer.evaluate(dev)
    reporting.log_embeddings(model, data, log_dir)
    return {
        "parameters": reporting.num_parameters(model),
        "updates": result.updates,
        "perplexity": scores.perplexity,
        "dev_generate_probability": 100
        * scores.metrics["generate_probability"],
        "dev_coverage_loss": scores.metrics["coverage_loss"],
        "seconds_training": round(result.seconds, 1),
        "target_tokens_per_second": round(result.target_tokens_per_second),
    }


def _metrics(batch, distribution):
    """Mean probability to generate (p_gen), and coverage loss of a token."""
    mask = tf.cast(batch["target_ids"] != tokens.PAD, tf.float32)
    total = tf.reduce_sum(mask)
    generated = tf.exp(distribution.log_generate)
    covered = losses.coverage(distribution.attention)
    return {
        "generate_probability": tf.reduce_sum(generated * mask) / total,
        "coverage_loss": tf.reduce_sum(covered * mask) / total,
    }


class TestSet:
    """The test articles, their references, and how answers are scored.

    Scores are made of tokens: sentences end at a token that ends one, or
    where the reference has a line end.

    Args:
        data: `common.Data`.
        config: The recipe's config.
        split: Whether ROUGE-L splits texts into sentences.
    """

    def __init__(self, data, config, split=True):
        self._tokenizer = data.tokenizers[0]
        self._entities = data.entities
        self._bleu_tokenize = config.bleu_tokenize
        self._split = split
        self.pairs = [
            (
                reporting.as_text(source),
                reporting.plain_text(target, data.entities),
            )
            for source, target in data.test
        ]
        self.sources = self._tokenized([pair[0] for pair in self.pairs])
        self.references = self._tokenized([pair[1] for pair in self.pairs])
        self._articles = self._folded(self.sources)
        self._article_words = [text.split() for text in self._articles]

    def leads(self, count=3):
        """The first sentences of the articles."""
        return [summaries.lead(text, count) for text in self.sources]

    def answer(self, translator):
        """Summarises the articles.

        Returns:
            `(translations, scores)`.
        """
        watch = reporting.Stopwatch()
        answers = translator.translate_all(pair[0] for pair in self.pairs)
        seconds = watch.seconds
        emitted = [p for a in answers for p in a.generate_probs]
        scores = {
            **self.score_texts([" ".join(a.tokens) for a in answers]),
            **self._bleu(answers),
            "unk_rate": translations.unk_rate([a.tokens for a in answers]),
            "copy_rate": translations.copy_rate(
                [a.copied_from for a in answers]
            ),
            "generate_probability": 100 * sum(emitted) / max(len(emitted), 1),
            "seconds_translating": seconds,
        }
        return answers, _rounded(scores)

    def score_texts(self, texts):
        """ROUGE, novel and repeated n-grams of texts of tokens."""
        scores = self.rouge(texts)
        return _rounded({**scores, **self._rates(texts)})

    def rouge(self, texts):
        """ROUGE of texts of tokens."""
        return summaries.rouge(texts, self.references, split=self._split)

    def reference_rates(self):
        """Novel and repeated n-grams of the references."""
        return _rounded(self._rates(self.references))

    def _rates(self, texts):
        texts = self._folded(texts)
        outputs = [text.split() for text in texts]
        rates = {}
        for n in range(1, 5):
            novel = summaries.novel_ngram_rate(outputs, self._article_words, n)
            repeated = summaries.repeated_ngram_rate(outputs, n)
            rates[f"novel_{n}grams"] = novel
            rates[f"repeated_{n}grams"] = repeated
        rates["novel_sentences"] = summaries.novel_sentence_rate(
            texts, self._articles
        )
        rates["repeated_sentences"] = summaries.repeated_sentence_rate(texts)
        rates["words"] = sum(map(len, outputs)) / len(outputs)
        return rates

    def _bleu(self, answers):
        texts = [answer.text for answer in answers]
        references = [" ".join(pair[1].split()) for pair in self.pairs]
        bleu = translations.bleu(texts, references, self._bleu_tokenize)
        return {"bleu": bleu["score"], "bleu_signature": bleu["signature"]}

    def _folded(self, texts):
        """Texts in the form under which their words match."""
        folded = self._tokenizer.fold(chunks.to_tensor(texts)).numpy()
        return [text.decode() for text in folded.tolist()]

    def _tokenized(self, texts):
        """Texts with a blank between tokens; lines stay lines."""
        lines = [text.split("\n") for text in texts]
        flat = chunks.to_tensor(line for some in lines for line in some)
        flat = self._tokenizer.tokenize(flat)
        if self._entities is not None:
            flat = self._entities.surfaces(flat)
        flat = tf.strings.reduce_join(flat, axis=-1, separator=" ").numpy()
        flat = iter([line.decode() for line in flat.tolist()])
        return [
            "\n".join(line for line in (next(flat) for _ in some) if line)
            for some in lines
        ]


def _rounded(scores):
    return {
        name: round(value, 2) if isinstance(value, float) else value
        for name, value in scores.items()
    }


def best_on_validation(translators, data):
    """The system with the best ROUGE-1 on the first validation articles."""
    if len(translators) == 1:
        return next(iter(translators))
    pairs = itertools.islice(data.corpus.validation, _VALIDATION)
    sources, references = zip(*pairs)
    references = [reporting.plain_text(x, data.entities) for x in references]

    def score(system):
        answers = translators[system].translate_all(sources)
        texts = [answer.text for answer in answers]
        return summaries.rouge(texts, references)["rouge1"]

    return max(translators, key=score)


def print_examples(test, answers, count=3):
    """Shows answers, with the words that were copied marked [so]."""
    if not answers:
        return
    pairs = [
        (source, " ".join(target.split())) for source, target in test.pairs
    ]
    reporting.print_marked_examples(pairs, answers, range(count), "words")


_COLUMNS = {
    "R-1": "rouge1",
    "R-2": "rouge2",
    "R-L": "rougeL",
    "BLEU": "bleu",
    "% UNK": "unk_rate",
    "% new 3": "novel_3grams",
    "% rep. 3": "repeated_3grams",
    "p_gen": "generate_probability",
    "dev ppl": "perplexity",
    "updates": "updates",
    "seconds": "seconds_training",
}


def print_comparison(results, references, paper):
    """A table of the systems, and what the paper reports."""
    rows = {
        **results,
        "the references": references,
        **{f"{system}, paper": scores for system, scores in paper.items()},
    }
    reporting.print_table(rows, _COLUMNS)
    print(
        "ROUGE: F1, L of whole summaries, stemmed. % new 3 and % rep. 3: "
        "trigrams that\nthe article does not hold, and that repeat others of "
        "the answer. p_gen: mean\nprobability to generate, percent, of the "
        "words of the answers."
    )


def print_unseen_names(translator):
    """Shows that names never seen come back as typed."""
    print("\nStories about names that the model has never seen:")
    texts = [pair[0] for pair in demo_news.examples()]
    answers = translator.translate_all(texts, progress=False)
    for answer, text in zip(answers, texts):
        print(f"\n  {text}\n  > {answer.text}")
