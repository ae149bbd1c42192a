"""Samples in TensorBoard of models that read definitions, as they train.

After each dev score a few examples of the validation set are shown: a table
and, where matplotlib is installed, pictures. Each class is made once per
system, and is an `on_eval` of `Trainer`.
"""

import keras
import numpy as np
import tensorflow as tf

from tfcopy import tokens
from tfcopy.experiments.reporting import figures
from tfcopy.training.tensorboard import bold, log_table

_COUNT = 4
_MOST_WORDS = 80  # along each side of a picture


class AnswerSamples:
    """Questions: where each word of a context looks, and the answer.

    Args:
        text_system: `TextSystem` of a `coattention` model.
        questions: `TokenizedQuestion`s.
        texts: `WordTexts` of the questions.
        answer: Function of `(predictions, questions)` that returns their
            `FoundAnswer`s.
    """

    def __init__(self, text_system, questions, texts, answer):
        rows = _spread(len(texts))
        self._questions = [questions[row] for row in rows]
        self._answer = answer
        layer = text_system.model.get_layer("coattention")
        self._sample = _Sample(text_system, texts, rows, layer.output[1])

    def __call__(self, update, writer):
        scores, weights = self._sample()
        predictions = [(self._sample.batch, scores)]
        answers = self._answer(predictions, self._questions)
        rows = []
        for i, (question, answer) in enumerate(zip(self._questions, answers)):
            self._draw(writer, update, i, question, weights[i], answer.span)
            places = range(len(question.context_tokens))
            first, last = answer.span
            answered = [first <= place < last for place in places]
            rows.append(
                (
                    bold(question.context_tokens, answered),
                    question.example.question,
                    answer.text,
                    question.references[0],
                )
            )
        header = "context", "question", "answer", "reference"
        log_table(writer, update, header, rows, "examples")

    def _draw(self, writer, update, i, question, weights, span):
        if figures is None:
            return
        end = [tokens.SPECIAL_TOKENS[tokens.EOS]]
        picture = figures.reading_figure(
            question.context_tokens + end,
            question.question_tokens + end,
            {"Answer": weights},
            {"Answer": span},
            question.spans[0],
        )
        with writer.as_default(update):
            tf.summary.image(f"attention/{i}", picture)


class EntailmentSamples:
    """Pairs: which words are compared, and how probable each label is.

    Args:
        text_system: `TextSystem` of an `esim` model.
        texts: `WordTexts` with labels.
        labels: The names of the labels.
    """

    def __init__(self, text_system, texts, labels):
        rows = _spread(len(texts))
        self._labels = labels
        self._truth = texts.labels["label"][rows]
        layer = text_system.model.get_layer("soft_alignment")
        self._sample = _Sample(text_system, texts, rows, layer.input[:2])

    def __call__(self, update, writer):
        logits, sides = self._sample()
        probabilities = _probabilities(logits)
        premise, hypothesis = (np.asarray(x, np.float32) for x in sides)
        # As in the layer: how similar the words are.
        scores = np.einsum("bmd,bnd->bmn", hypothesis, premise)
        rows = []
        for i, true in enumerate(self._truth):
            texts = self._sample.words[i]
            defined = {name: self._sample.defined(i, name) for name in texts}
            self._draw(writer, update, i, scores[i], defined, probabilities[i])
            rows.append(
                (
                    *(bold(texts[name], defined[name]) for name in texts),
                    _with_percent(self._labels, probabilities[i]),
                    self._labels[true],
                )
            )
        header = *self._sample.words[0], "answer", "truth"
        log_table(writer, update, header, rows, "examples")

    def _draw(self, writer, update, i, scores, defined, probabilities):
        premise, hypothesis = (
            words[:_MOST_WORDS] for words in self._sample.words[i].values()
        )
        if figures is None or not (premise and hypothesis):
            return
        scores = scores[: len(hypothesis), : len(premise)]
        picture = figures.alignment_figure(
            premise,
            hypothesis,
            _probabilities(scores),
            tuple(flags[:_MOST_WORDS] for flags in defined.values()),
            dict(zip(self._labels, probabilities)),
            self._labels[self._truth[i]],
        )
        with writer.as_default(update):
            tf.summary.image(f"alignment/{i}", picture)


class NextWordSamples:
    """Texts: how probable each word is, and which words are likely there.

    Args:
        text_system: `TextSystem` of an `lstm_language_model`.
        texts: `WordTexts`.
    """

    def __init__(self, text_system, texts):
        self._vocabulary = text_system.features.vocabulary
        self._sample = _Sample(text_system, texts, _spread(len(texts)))

    def __call__(self, update, writer):
        logits, _ = self._sample()
        probabilities = _probabilities(logits)
        targets = np.asarray(self._sample.batch["target_ids"])
        for i, texts in enumerate(self._sample.words):
            words = texts["text"]
            ids = targets[i, : len(words)]
            known = ids != tokens.UNK
            of_words = probabilities[i, np.arange(len(words)), ids]
            likely = [self._likely(x) for x in probabilities[i, : len(words)]]
            if figures is not None:
                picture = figures.next_words_figure(
                    words, of_words, known, likely
                )
                with writer.as_default(update):
                    tf.summary.image(f"next_words/{i}", picture)
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


class _Sample:
    """A few examples, and a model's output for them.

    Attributes:
        batch: The batch of these examples.
        words: List of each example's words, a dict of lists by text.

    Args:
        text_system: `TextSystem`.
        texts: `WordTexts`.
        rows: The numbers of the examples.
        details: Tensors of the model to return in addition to its output.
    """

    def __init__(self, text_system, texts, rows, details=()):
        some = texts.subset(rows)
        (self.batch,) = text_system.batches.evaluation(some, len(rows))
        self.words = [
            {name: some.tokens(name, i) for name in some.texts}
            for i in range(len(rows))
        ]
        model = text_system.model
        self._inputs = {name: self.batch[name] for name in model.input}
        self._run = tf.function(
            keras.Model(model.input, (model.output, details)), autograph=False
        )

    def __call__(self):
        """The model's present output, and the details."""
        return self._run(self._inputs)

    def defined(self, i, name):
        """Returns whether each word of a text has definitions."""
        count = len(self.words[i][name])
        slots = self.batch.get(f"{name}_slots")
        if slots is None:
            return [False] * count
        return np.any(slots[i][:count], axis=-1).tolist()


def _spread(total):
    """Returns a few numbers below `total`, from 0 to the last."""
    return np.unique(np.linspace(0, total - 1, _COUNT).astype(int))


def _probabilities(scores):
    scores = keras.ops.cast(scores, "float32")
    return keras.ops.convert_to_numpy(keras.ops.softmax(scores, axis=-1))


def _with_percent(names, probabilities):
    return ", ".join(
        f"{x} {100 * p:.0f} %" for x, p in zip(names, probabilities)
    )
