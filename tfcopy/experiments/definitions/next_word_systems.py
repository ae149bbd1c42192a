"""Systems that predict the next word: data, models, training, examples."""

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from tfcopy import losses, tokens
from tfcopy.data.corpora import sentences
from tfcopy.data.corpora.corpus import Split
from tfcopy.data.definitions import DefinitionFeatures
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.generated import demo_definitions
from tfcopy.data.text.tokenization import Tokenizer, token_rows
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments import reporting
from tfcopy.experiments.definitions import (
    definition_data,
    definition_pictures,
    text_systems,
)
from tfcopy.models import lstm_language_model
from tfcopy.serving.servables.text_model import WordPredictor
from tfcopy.training.tensorboard import bold, log_table


def read(
    split: Split, tokenizer: Tokenizer, max_length: int
) -> Iterator[tuple[dict, dict]]:
    """Yields what `WordTexts.from_examples` takes; no blank sentence.

    Args:
        split: Sentences.
        tokenizer: What cuts them into words.
        max_length: Most words of a sentence that are read.
    """
    rows = token_rows(split, tokenizer, description="Tokenising sentences")
    for sentence in filter(None, rows):
        yield {"text": [word.decode() for word in sentence[:max_length]]}, {}


def load_corpus(config):
    """Loads the corpus that the flags name."""
    if config.corpus == "demo":
        return demo_definitions.sentences(num_train=config.num_train)
    if config.corpus == "lm1b":
        if config.data is None:
            return sentences.load_tfds("lm1b", config.data_dir)
        return sentences.load_one_billion_words(
            config.data, num_shards=config.num_shards
        )
    if config.data is None:
        raise ValueError(
            f"--data must name where the corpus is. Received: --corpus "
            f"{config.corpus} without --data."
        )
    load = sentences.load_brown if config.corpus == "brown" else sentences.load
    return load(config.data)


def prepare(config, systems):
    """Reads the sentences, and what the systems need: `DefinitionData`."""

    def read_split(split, tokenizer, _):
        return read(split, tokenizer, config.max_length)

    corpus = load_corpus(config)
    return definition_data.prepare(config, corpus, read_split, systems)


def build(run, name, sources, data):
    """Builds a system that predicts the next word: `TextSystem`."""
    return text_systems.build(
        run,
        name,
        sources,
        data,
        lstm_language_model,
        WordPredictor,
        finish=finish_batch,
    )


def train(text_system, data):
    """Trains a system, or resumes its training."""

    def score_predictions(predictions):
        scores, _ = score(predictions)
        return {name: x for name, x in scores.items() if x is not None}

    return text_systems.train(
        text_system,
        data,
        losses.next_word,
        normalize="sentences",
        score_predictions=score_predictions,
        on_eval=NextWordSamples(text_system, data.validation),
    )


def finish_batch(
    features: DefinitionFeatures, words: dict, looked_up: dict, labels: dict
) -> dict:
    """Builds a batch whose texts begin with `BOS` and lack their last word.

    Args:
        features: What makes the inputs of the model.
        words: See `TextBatches`.
        looked_up: See `TextBatches`.
        labels: See `TextBatches`; there are none.
    """
    text = words["text"]
    about = {
        key: text.with_flat_values(x) for key, x in looked_up["text"].items()
    }
    about_read = {key: x[:, :-1].flat_values for key, x in about.items()}
    return {
        **features.inputs({"text": text[:, :-1]}, {"text": about_read}),
        "target_ids": about["ids"].to_tensor(),
    }


def score(predictions: Iterable) -> tuple[dict, list]:
    """Computes perplexities over all words and over some.

    Args:
        predictions: Batches, each with the scores of its next words.

    Returns:
        `(scores, costs)`: dict of the perplexity over all words; after words
        that are not in the vocabulary (`after_oov`); after those that are
        (`after_known`); and over the words that are in the vocabulary
        (`known_targets`), each `None` if there is no such word. And a list
        with an array for each text: the cost of each word, nats.
    """
    sums, rows = {}, []
    for batch, logits in predictions:
        costs = np.asarray(losses.next_word(batch, logits), np.float64)
        target = np.asarray(batch["target_ids"])
        before = np.asarray(batch["text_ids"])
        is_word = target != tokens.PAD
        for name, mask in {
            "perplexity": is_word,
            "after_oov": is_word & (before == tokens.UNK),
            "after_known": is_word & (before != tokens.UNK),
            "known_targets": is_word & (target != tokens.UNK),
        }.items():
            total, number = sums.get(name, (0.0, 0))
            sums[name] = total + costs[mask].sum(), number + int(mask.sum())
        rows += [x[mask] for x, mask in zip(costs, is_word)]
    return {
        name: float(np.exp(total / number)) if number else None
        for name, (total, number) in sums.items()
    }, rows


def print_examples(
    texts: WordTexts,
    costs: Mapping[str, list],
    vocabulary: Vocabulary,
    count: int = 4,
):
    """Shows texts with unknown words, and how probable what follows them is.

    Args:
        texts: The texts.
        costs: Dict from systems to the costs that `score` returns.
        vocabulary: The words that the model knows.
        count: Number of texts to show.
    """
    print(
        "\nTexts of the test set, with out-of-vocabulary words in [brackets] "
        "and the\nprobability of the word after each of these:"
    )
    width = max(map(len, costs)) + 2
    shown = 0
    for i in range(len(texts)):
        words = texts.tokens("text", i)
        unknown = [t for t, x in enumerate(words[:-1]) if x not in vocabulary]
        if not unknown:
            continue
        marked = [x if x in vocabulary else f"[{x}]" for x in words]
        print()
        reporting.print_text("", " ".join(marked), width)
        for name, rows in costs.items():
            words_after = ", ".join(
                f"{words[t + 1]} {100 * math.exp(-rows[i][t + 1]):.1f} %"
                for t in unknown
            )
            reporting.print_text(name, words_after, width)
        shown += 1
        if shown == count:
            return


class NextWordSamples:
    """Texts: how probable each word is, and which words are likely there.

    Args:
        text_system: `TextSystem` of an `lstm_language_model`.
        texts: `WordTexts`.
    """

    def __init__(self, text_system, texts):
        self._vocabulary = text_system.features.vocabulary
        self._sample = definition_pictures.Sample(
            text_system, texts, definition_pictures.spread(len(texts))
        )

    def __call__(self, update, writer):
        logits, _ = self._sample()
        probabilities = definition_pictures.probabilities(logits)
        targets = np.asarray(self._sample.batch["target_ids"])
        for i, texts in enumerate(self._sample.words):
            words = texts["text"]
            ids = targets[i, : len(words)]
            known = ids != tokens.UNK
            of_words = probabilities[i, np.arange(len(words)), ids]
            likely = [self._likely(x) for x in probabilities[i, : len(words)]]
            rows = [
                (bold([word], [is_known]), f"{100 * value:.2f} %", ", ".join(x))
                for word, is_known, value, x in zip(
                    words, ~known, of_words, likely
                )
            ]
            header = "word (bold: unknown)", "probability", "likely there"
            log_table(writer, update, header, rows, f"examples/{i}")

    def _likely(self, probabilities, count=3):
        """Returns the most probable words, without special ones."""
        first = len(tokens.SPECIAL_TOKENS)
        best = first + np.argsort(-probabilities[first:])[:count]
        return [
            f"{self._vocabulary.word(i)} {100 * probabilities[i]:.0f} %"
            for i in best
        ]
