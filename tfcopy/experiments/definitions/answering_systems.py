"""Systems that answer questions: data, models, training, scores, examples."""

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfcopy import losses, training
from tfcopy.data.corpora import squad
from tfcopy.data.definitions import word_texts
from tfcopy.data.definitions.word_texts import TokenizedQuestion, WordTexts
from tfcopy.data.generated import demo_definitions
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.decoding import independent_spans, joint_spans
from tfcopy.evaluation import definition_scores as squad_evaluation
from tfcopy.experiments import reporting, training_choices
from tfcopy.experiments.definitions import (
    definition_data,
    definition_pictures,
    text_systems,
)
from tfcopy.models import coattention
from tfcopy.serving.servables.text_model import AnswerFinder
from tfcopy.training.tensorboard import bold, log_table


def read(
    split: Iterable, tokenizer: Tokenizer, kept: list | None = None
) -> Iterator[tuple[dict, dict]]:
    """Yields what `WordTexts.from_examples` takes.

    Args:
        split: Examples of `tfcopy.data.corpora.squad`.
        tokenizer: What cuts them into words.
        kept: List that gets the `TokenizedQuestion`s, if they are to be
            scored.
    """
    for question in word_texts.tokenize_questions(split, tokenizer):
        if kept is not None:
            kept.append(question)
        first, last = question.spans[0]
        yield (
            {
                "context": question.context_tokens,
                "question": question.question_tokens,
            },
            {"start": first, "end": last},
        )


def count_once(texts: WordTexts) -> collections.Counter:
    """Counts words; a context counts once for all of its questions."""
    counts = collections.Counter()
    previous = None
    for i in range(len(texts)):
        context = texts.texts["context"][i].tobytes()
        names = ("question",) if context == previous else texts.texts
        for name in names:
            counts.update(texts.words[x] for x in texts.texts[name][i])
        previous = context
    return counts


def prepare(config, systems):
    """Reads the questions, and what the systems need.

    Returns:
        `(data, questions)`: `DefinitionData`; and the `TokenizedQuestion`s of
        `validation` and `test`, which are scored.
    """
    demo = demo_definitions.questions
    corpus = definition_data.load_labelled(config, squad, demo)
    questions = {"train": None, "validation": [], "test": []}

    def read_split(split, tokenizer, name):
        return read(split, tokenizer, questions[name])

    return definition_data.prepare(
        config, corpus, read_split, systems, count_once
    ), questions


def build(run, name, sources, data, questions):
    """Builds a system that answers questions: `TextSystem`."""
    examples = [
        {"context": x.example.context, "question": x.example.question}
        for x in questions[:4]
    ]
    return text_systems.build(
        run, name, sources, data, coattention, AnswerFinder, examples=examples
    )


def train(text_system, data, questions):
    """Trains a system, or resumes its training."""
    config = text_system.system.config

    def find(predictions, some):
        return answer(predictions, some, config.max_answer_length)

    def score_predictions(predictions):
        scores = score(find(predictions, questions), questions)
        return {name: scores[name] for name in ("exact_match", "f1")}

    optimizer = training_choices.make_optimizer(
        config, text_system.model, config.updates
    )
    phases = []
    if config.anneal_epoch is not None:
        phases.append(
            training.anneal(config.anneal_epoch, optimizer, unit="epochs")
        )
    return text_systems.train(
        text_system,
        data,
        losses.span,
        optimizer=optimizer,
        phases=phases,
        targets="start",
        score_predictions=score_predictions,
        score="exact_match",
        on_eval=AnswerSamples(text_system, questions, data.validation, find),
    )


class FoundAnswer(NamedTuple):
    """A system's answer to a question.

    Attributes:
        text: The best span, as it stands in the context.
        independent: The answer if start and end are chosen independently.
        span: The positions of the first word of `text` and after its last.
        log_prob: The log-probability of the true span, nats.
    """

    text: str
    independent: str
    span: tuple[int, int]
    log_prob: float


def answer(
    predictions: Iterable,
    questions: Iterable[TokenizedQuestion],
    max_length: int,
) -> list[FoundAnswer]:
    """Finds the answers to questions.

    Args:
        predictions: Batches, each with the scores of its spans.
        questions: The questions, in the same order.
        max_length: Most words of an answer.
    """
    joint, independent, log_probs = [], [], []
    for batch, scores in predictions:
        # The latest end of an answer is before the mark that ends the context.
        joint += _pairs(joint_spans(scores["start"], scores["end"], max_length))
        independent += _pairs(independent_spans(scores["start"], scores["end"]))
        log_probs += (-np.asarray(losses.span(batch, scores))[:, 0]).tolist()
    return [
        FoundAnswer(question.text(*best), question.text(*other), best, log_prob)
        for question, best, other, log_prob in zip(
            questions, joint, independent, log_probs
        )
    ]


def _pairs(spans):
    return list(zip(*(np.asarray(x).tolist() for x in spans)))


def score(
    answers: Sequence[FoundAnswer], questions: Sequence[TokenizedQuestion]
) -> dict:
    """Computes the official scores, in percent, and a 95 % interval."""
    references = [question.references for question in questions]
    texts = [x.text for x in answers]
    independent = [x.independent for x in answers]
    scores = {
        "exact_match": squad_evaluation.exact_match(texts, references),
        "f1": squad_evaluation.f1(texts, references),
        "independent_exact_match": squad_evaluation.exact_match(
            independent, references
        ),
        "independent_f1": squad_evaluation.f1(independent, references),
    }
    share = reporting.share(
        "exact_match", scores["exact_match"], len(questions)
    )
    return {name: round(value, 2) for name, value in scores.items()} | share


def print_examples(
    questions: Sequence[TokenizedQuestion],
    answers: Mapping[str, Sequence[FoundAnswer]],
    count: int = 3,
):
    """Shows questions, and what the systems answer.

    Args:
        questions: The questions.
        answers: Dict from systems to their answers.
        count: Number of questions to show.
    """
    print("\nExamples from the test set:")
    width = max(map(len, [*answers, "question", "reference"])) + 2
    for i, question in enumerate(questions[:count]):
        example = question.example
        print()
        reporting.print_text("context", example.context, width)
        reporting.print_text("question", example.question, width)
        for name, of_system in answers.items():
            reporting.print_text(name, of_system[i].text, width)
        reporting.print_text("reference", example.answers[0].text, width)


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
        rows = definition_pictures.spread(len(texts))
        self._questions = [questions[row] for row in rows]
        self._answer = answer
        self._sample = definition_pictures.attention(text_system, texts, rows)

    def __call__(self, update, writer):
        scores, weights = self._sample()
        answers = self._answer([(self._sample.batch, scores)], self._questions)
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
        if reporting.figures is None:
            return
        picture = definition_pictures.plot_reading(
            question, {"Answer": weights}, {"Answer": span}
        )
        with writer.as_default(update):
            tf.summary.image(f"attention/{i}", picture)
