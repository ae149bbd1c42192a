"""Corpora of recipes that summarise, and how summaries are scored and shown.

Corpora are files, tables, TFDS, or the demo's.
"""

import tensorflow as tf

from tfcopy.data.corpora import cnn_dailymail, gigaword, tables, tfds_corpora
from tfcopy.data.corpora.corpus import SPLITS
from tfcopy.data.generated import demo_news
from tfcopy.data.ragged_rows import join
from tfcopy.data.text.blanks import normalize
from tfcopy.data.text.tokenization import Tokenizer, string_tensor
from tfcopy.evaluation import summaries, translations
from tfcopy.experiments import reporting
from tfcopy.experiments.config import check_corpus
from tfcopy.experiments.pairs import pair_data, pretrained
from tfcopy.experiments.pairs.corpus_flags import SummariesConfig
from tfcopy.experiments.pairs.pair_data import as_text
from tfcopy.experiments.run import measure_time


def check(config: SummariesConfig):
    """Raises a ValueError that names a flag which makes no sense."""
    check_corpus(config)
    if config.min_summary_length >= config.max_summary_length:
        raise ValueError(
            "--min_summary_length must be below --max_summary_length "
            f"({config.max_summary_length}). "
            f"Received: {config.min_summary_length}."
        )
    has_columns = config.train is not None or config.tfds is not None
    for flag in ("source_column", "target_column"):
        if getattr(config, flag) is not None and not has_columns:
            raise ValueError(f"--{flag} needs --train or --tfds as well.")


def load_corpus(config: SummariesConfig, demo):
    """Loads the corpus that `--train`, `--prepared` or `--tfds` names.

    Args:
        config: The flags; --seed chooses the pairs that are held out.
        demo: Module of the corpus that is generated without any.
    """
    if config.train is not None and len(config.train) < 2:
        return _load_tables(config)
    is_tokenized = config.tokenization == "space"
    corpus = pair_data.load_files(config, tokenized=is_tokenized)
    # The preset may name a dataset, too.
    if corpus is None and config.tfds is not None:
        return _load_tfds(config)
    return demo.load() if corpus is None else corpus


def make_tokenizer(config: SummariesConfig, corpus, folder):
    """Builds the tokenizer of both sides.

    Args:
        config: The flags, with those of a `BackboneConfig`.
        corpus: `TranslationCorpus`.
        folder: Where files of a pretrained network's tokenizer are kept.
    """
    if config.backbone is not None:
        return pretrained.pieces(config.backbone, folder).tokenizers[0]
    mode = "space" if corpus.tokenized else config.tokenization
    return Tokenizer(mode=mode, language="en", lowercase=config.lowercase)


def _load_tfds(config):
    columns = config.source_column, config.target_column
    name, _, version = config.tfds.partition(":")
    readers = {"cnn_dailymail": cnn_dailymail, "gigaword": gigaword}
    if name in readers and columns == (None, None):
        options = {"version": version} if version else {}
        return readers[name].load(config.data_dir, **options)
    return tfds_corpora.load(
        config.tfds, config.data_dir, *columns, languages=("en", "en")
    )


def _load_tables(config):
    files = [_table(getattr(config, x), f"--{x}") for x in SPLITS]
    for flag in ("source_column", "target_column"):
        if getattr(config, flag) is None:
            raise ValueError(f"A table needs --{flag}.")
    return tables.load(
        *files,
        source_column=config.source_column,
        target_column=config.target_column,
        tokenized=config.tokenization == "space",
        seed=config.seed,
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


def plain_text(text, entities=None) -> str:
    """Removes the tags of entities from a text, if it has such tags."""
    if entities is None or entities.pattern is not None:
        return as_text(text)
    words = tf.constant(normalize(as_text(text)).split(" "), tf.string)
    words = entities.surfaces(words).numpy().tolist()
    return " ".join(word.decode() for word in words)


class TestSet:
    """The test articles, their references, and how answers are scored.

    Scores are made of tokens, words if a model reads pieces of such: sentences
    end at a token that ends one, or where the reference has a line end.

    Args:
        data: `PairData`.
        bleu_tokenize: Tokenisation of sacrebleu.
        split: Whether ROUGE-L splits texts into sentences.

    Attributes:
        pairs: The articles and their references.
        reads_pieces: Whether the tokens of a model are subwords.
    """

    def __init__(self, data, bleu_tokenize, split=True):
        self._tokenizer = data.tokenizers[0]
        self.reads_pieces = self._tokenizer.cuts_words
        if self.reads_pieces:
            self._tokenizer = Tokenizer(language="en")
        self._entities = data.entities
        self._bleu_tokenize = bleu_tokenize
        self._split = split
        self.pairs = [(x, plain_text(y, data.entities)) for x, y in data.test]
        self.sources = self._tokenize([pair[0] for pair in self.pairs])
        self.references = self._tokenize([pair[1] for pair in self.pairs])
        self._articles = self._fold(self.sources)
        self._article_words = [text.split() for text in self._articles]

    def leads(self, count=3):
        """Returns the first sentences of the articles."""
        return [summaries.lead(text, count) for text in self.sources]

    def answer(self, translator):
        """Summarises the articles.

        Returns:
            `(translations, scores)`.
        """
        sources = [source for source, _ in self.pairs]
        answers, seconds = measure_time(translator.translate_all, sources)
        emitted = [p for a in answers for p in a.generate_probs]
        texts = [" ".join(a.tokens) for a in answers]
        if self.reads_pieces:
            texts = self._tokenize([a.text for a in answers])
        scores = {
            **self.score_texts(texts),
            **self._bleu(answers),
            "unk_rate": translations.unk_rate([a.tokens for a in answers]),
            "copy_rate": translations.copy_rate(
                [a.copied_from for a in answers]
            ),
            "generate_probability": 100 * sum(emitted) / max(len(emitted), 1),
            "seconds_translating": seconds,
        }
        return answers, _round_scores(scores)

    def score_texts(self, texts):
        """Computes ROUGE, novel and repeated n-grams of tokenised texts."""
        return _round_scores({**self.rouge(texts), **self._rates(texts)})

    def rouge(self, texts):
        """Computes the ROUGE of tokenised texts."""
        return summaries.rouge(texts, self.references, split=self._split)

    def reference_rates(self):
        """Computes the novel and repeated n-grams of the references."""
        return _round_scores(self._rates(self.references))

    def _rates(self, texts):
        texts = self._fold(texts)
        outputs = [text.split() for text in texts]
        rates = {}
        for n in range(1, 5):
            novel = summaries.novel_ngram_rate(outputs, self._article_words, n)
            repeated = summaries.rate_repeated_ngrams(outputs, n)
            rates[f"novel_{n}grams"] = novel
            rates[f"repeated_{n}grams"] = repeated
        rates["novel_sentences"] = summaries.novel_sentence_rate(
            texts, self._articles
        )
        rates["repeated_sentences"] = summaries.rate_repeated_sentences(texts)
        rates["words"] = sum(map(len, outputs)) / len(outputs)
        return rates

    def _bleu(self, answers):
        texts = [answer.text for answer in answers]
        references = [normalize(pair[1]) for pair in self.pairs]
        bleu = translations.bleu(texts, references, self._bleu_tokenize)
        return {"bleu": bleu["score"], "bleu_signature": bleu["signature"]}

    def _fold(self, texts):
        """Folds texts, so that words that match are equal."""
        folded = self._tokenizer.fold(string_tensor(texts)).numpy()
        return [text.decode() for text in folded.tolist()]

    def _tokenize(self, texts):
        """Tokenizes texts, with a blank between tokens; lines stay lines."""
        lines = [text.split("\n") for text in texts]
        flat = string_tensor(
            line for text_lines in lines for line in text_lines
        )
        flat = self._tokenizer.tokenize(flat)
        if self._entities is not None:
            flat = self._entities.surfaces(flat)
        flat = join(flat, " ").numpy()
        flat = iter([line.decode() for line in flat.tolist()])
        return [
            "\n".join(line for line in (next(flat) for _ in text_lines) if line)
            for text_lines in lines
        ]


def _round_scores(scores):
    return {
        name: round(value, 2) if isinstance(value, float) else value
        for name, value in scores.items()
    }


def best_on_validation(run, data) -> reporting.ExportChoice:
    """Returns the system with the best ROUGE-1 on the validation set."""

    def score(texts, references):
        references = [plain_text(y, data.entities) for y in references]
        return summaries.rouge(texts, references)["rouge1"]

    return run.best_answers("rouge1", data, score)


def print_examples(test, answers, count=3):
    """Shows answers, with the words that were copied marked [so]."""
    pairs = [(source, normalize(target)) for source, target in test.pairs]
    unit = "pieces" if test.reads_pieces else "words"
    reporting.print_marked_examples(pairs, answers, range(count), unit)


def print_unseen_names(translator):
    """Shows that names never seen come back as typed."""
    print("\nStories about names that the model has never seen:")
    texts = [pair[0] for pair in demo_news.examples()]
    reporting.print_answers(translator, texts, "  > ")
