"""Systems that label pairs: data, models, training, scores, examples."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import tensorflow as tf

from tfcopy import losses
from tfcopy.data.corpora import nli
from tfcopy.data.corpora.corpus import Split
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.generated import demo_definitions
from tfcopy.data.parallel import map_each
from tfcopy.data.text.tokenization import Tokenizer, string_tensor
from tfcopy.experiments import reporting
from tfcopy.experiments.definitions import (
    definition_data,
    definition_pictures,
    text_systems,
)
from tfcopy.models import esim
from tfcopy.serving.servables.text_model import EntailmentClassifier
from tfcopy.training.tensorboard import bold, log_table


def read(
    split: Split, tokenizer: Tokenizer, max_length: int
) -> Iterator[tuple[dict, dict]]:
    """Yields what `WordTexts.from_examples` takes.

    Args:
        split: Examples of `tfcopy.data.corpora.nli`.
        tokenizer: What cuts them into words.
        max_length: Most words of a sentence that are read.
    """

    def tokenize(examples):
        sides = [
            tokenizer.tokenize(string_tensor(side)).to_list()
            for side in list(zip(*examples))[:2]
        ]
        return [(*pair, x.label) for *pair, x in zip(*sides, examples)]

    rows = map_each(tokenize, split, description="Tokenising sentences")
    for *sides, label in rows:
        words = [[x.decode() for x in side[:max_length]] for side in sides]
        yield dict(zip(("premise", "hypothesis"), words)), {"label": label}


def prepare(config, systems):
    """Reads the pairs, and what the systems need: `DefinitionData`."""
    demo = demo_definitions.entailments
    corpus = definition_data.load_labelled(config, nli, demo)

    def read_split(split, tokenizer, _):
        return read(split, tokenizer, config.max_length)

    return definition_data.prepare(config, corpus, read_split, systems)


def build(run, name, sources, data):
    """Builds a system that labels pairs: `TextSystem`."""
    if name not in run.config.baselines:
        sources = dataclasses.replace(sources, combine=run.config.combine)
    return text_systems.build(
        run, name, sources, data, esim, EntailmentClassifier
    )


def train(text_system, data):
    """Trains a system, or resumes its training."""

    def accuracy(batch, logits):
        labels = tf.argmax(logits, -1, output_type=tf.int32)
        right = tf.cast(labels == batch["label"], tf.float32)
        return {"accuracy": 100 * tf.reduce_mean(right)}

    return text_systems.train(
        text_system,
        data,
        losses.label,
        targets="label",
        metrics=accuracy,
        score="accuracy",
        on_eval=EntailmentSamples(text_system, data.validation),
    )


def probabilities(predictions: Iterable) -> np.ndarray:
    """Computes the probabilities of the labels, `(examples, 3)`.

    Args:
        predictions: Batches, each with the scores of its labels.
    """
    return np.concatenate(
        [definition_pictures.probabilities(logits) for _, logits in predictions]
    )


def is_right(label_probabilities: np.ndarray, texts: WordTexts) -> np.ndarray:
    """Returns whether each example is labelled correctly, `(examples,)`."""
    return label_probabilities.argmax(-1) == texts.labels["label"]


def score(right: np.ndarray) -> dict:
    """Computes the percentage of correct labels, with a 95 % interval."""
    return reporting.share("accuracy", 100 * float(right.mean()), len(right))


def print_examples(
    texts: WordTexts, answers: Mapping[str, np.ndarray], count: int = 4
):
    """Prints pairs, and the labels that the systems predict.

    Args:
        texts: The pairs.
        answers: Dict from systems to the probabilities of the labels.
        count: Number of pairs to show.
    """
    print("\nExamples from the test set:")
    width = max(map(len, [*answers, "hypothesis"])) + 2
    for i in range(min(count, len(texts))):
        print()
        for name in texts.texts:
            reporting.print_text(name, " ".join(texts.tokens(name, i)), width)
        for name, rows in answers.items():
            best = rows[i].argmax()
            label = f"{nli.LABELS[best]} ({100 * rows[i][best]:.0f} %)"
            print(f"{name:{width}}{label}")
        print(f"{'truth':{width}}{nli.LABELS[texts.labels['label'][i]]}")


_MOST_WORDS = 80  # along each side of a picture


class EntailmentSamples:
    """Pairs: which words are compared, and how probable each label is.

    Args:
        text_system: `TextSystem` of an `esim` model.
        texts: `WordTexts` with labels.
    """

    def __init__(self, text_system, texts):
        rows = definition_pictures.spread(len(texts))
        self._truth = texts.labels["label"][rows]
        layer = text_system.model.get_layer("soft_alignment")
        self._sample = definition_pictures.Sample(
            text_system, texts, rows, layer.input[:2]
        )

    def __call__(self, update, writer):
        logits, sides = self._sample()
        probabilities = definition_pictures.probabilities(logits)
        premise, hypothesis = (np.asarray(x, np.float32) for x in sides)
        # As in the layer: how similar the words are.
        scores = np.einsum("bmd,bnd->bmn", hypothesis, premise)
        rows = []
        for i, true in enumerate(self._truth):
            texts = self._sample.words[i]
            defined = {name: self._sample.is_defined(i, name) for name in texts}
            self._draw(writer, update, i, scores[i], defined, probabilities[i])
            rows.append(
                (
                    *(bold(texts[name], defined[name]) for name in texts),
                    ", ".join(
                        f"{x} {100 * p:.0f} %"
                        for x, p in zip(nli.LABELS, probabilities[i])
                    ),
                    nli.LABELS[true],
                )
            )
        header = *self._sample.words[0], "answer", "truth"
        log_table(writer, update, header, rows, "examples")

    def _draw(self, writer, update, i, scores, defined, probabilities):
        premise, hypothesis = (
            words[:_MOST_WORDS] for words in self._sample.words[i].values()
        )
        if reporting.figures is None or not (premise and hypothesis):
            return
        scores = scores[: len(hypothesis), : len(premise)]
        picture = reporting.figures.alignment_figure(
            premise,
            hypothesis,
            definition_pictures.probabilities(scores),
            tuple(flags[:_MOST_WORDS] for flags in defined.values()),
            dict(zip(nli.LABELS, probabilities)),
            nli.LABELS[self._truth[i]],
        )
        with writer.as_default(update):
            tf.summary.image(f"alignment/{i}", picture)
