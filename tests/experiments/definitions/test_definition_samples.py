"""Samples in TensorBoard of models that read definitions, in training."""

import functools
import types

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import (
    plugin_event_accumulator as event_accumulator,
)

from tests.serving.servables import text_models
from tfcopy.data.corpora.squad import Answer, Example
from tfcopy.data.definitions import TextBatches, word_texts
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.experiments import reporting
from tfcopy.experiments.definitions import (
    answering_systems,
    definition_pictures,
    entailment_systems,
    next_word_systems,
)
from tfcopy.serving.servables.text_model import LABELS

TEXTS = ["the zebra runs .", "a wug is old", "the dog", "who runs ?", "a cat"]


def build(name, examples, reader="mean"):
    """Builds the parts of a `TextSystem` with random weights, and the texts."""
    _, model, features = text_models.make(name, reader)
    texts = WordTexts.from_examples(examples)
    finish = None
    if name == "language":
        finish = functools.partial(next_word_systems.finish_batch, features)
    batches = TextBatches(features, texts.words, finish)
    return types.SimpleNamespace(
        model=model, features=features, batches=batches
    ), texts


def show(folder, samples):
    """Returns images by tag and lines of texts, after two scores."""
    writer = tf.summary.create_file_writer(str(folder))
    for update in (5, 10):
        samples(update, writer)
    writer.close()
    accumulator = event_accumulator.EventAccumulator(
        str(folder), size_guidance={"tensors": 0}
    )
    accumulator.Reload()
    images, lines = {}, {}
    for tag in accumulator.Tags()["tensors"]:
        events = accumulator.Tensors(tag)
        assert [event.step for event in events] == [5, 10]
        content = tf.make_ndarray(events[-1].tensor_proto)
        if tag.startswith("examples"):
            lines[tag] = content.item().decode().splitlines()
        else:
            images[tag] = tf.io.decode_png(content[2]).shape
    return images, lines


def run(built, texts):
    """Returns the first batch and the model's outputs."""
    (batch,) = built.batches.evaluation(texts.subset([0]), 1)
    return batch, built.model({name: batch[name] for name in built.model.input})


@pytest.mark.long
def test_pairs_show_labels_and_what_is_defined(tmp_path):
    examples = [
        ({"premise": x.split(), "hypothesis": ["the", "wug"]}, {"label": i % 3})
        for i, x in enumerate(TEXTS)
    ]
    built, texts = build("entailment", examples)
    images, lines = show(
        tmp_path, entailment_systems.EntailmentSamples(built, texts)
    )
    if reporting.figures is not None:
        assert set(images) == {f"alignment/{i}" for i in range(4)}
        assert all(width > 250 for _, width, _ in images.values())
    probabilities = tf.nn.softmax(run(built, texts)[1])[0].numpy()
    told = ", ".join(
        f"{x} {100 * p:.0f} %" for x, p in zip(LABELS, probabilities)
    )
    header, _, first, *others = lines["examples"]
    assert header == "| premise | hypothesis | answer | truth |"
    # "runs" is a form of "run", which is defined.
    assert first == (
        rf"| the **zebra** **runs** \. | the **wug** | {told} | contradiction |"
    )
    assert len(others) == 3


def test_words_are_as_probable_as_the_model_says(tmp_path):
    examples = [({"text": text.split()}, {}) for text in TEXTS]
    built, texts = build("language", examples)
    _, lines = show(tmp_path, next_word_systems.NextWordSamples(built, texts))
    _, found = next_word_systems.score([run(built, texts)])
    rows = lines["examples/0"][2:]
    marked = ["the", "**zebra**", "runs", r"\."]
    assert len(rows) == 4
    for row, word, cost in zip(rows, marked, found[0]):
        _, cell, probability, likely, _ = row.split(" | ".strip())
        assert cell.strip() == word
        expected = f"{100 * np.exp(-cost):.2f} %".replace(".", r"\.")
        assert probability.strip() == expected
        assert likely.count("%") == 3
    # The best first, if it is no special word.
    best = 4 + run(built, texts)[1][0].numpy()[:, 4:].argmax(-1)
    assert [row.split("|")[3].split()[0].replace("\\", "") for row in rows] == [
        text_models.TEXT.word(i) for i in best
    ]


@pytest.mark.slow
def test_answers_are_marked_in_their_contexts(tmp_path):
    questions = [
        Example(f"q{i}", x, f"what is a wug {i} ?", (Answer(x.split()[0], 0),))
        for i, x in enumerate(TEXTS)
    ]
    questions = list(word_texts.tokenize_questions(questions))
    examples = [
        (
            {"context": q.context_tokens, "question": q.question_tokens},
            {"start": q.spans[0][0], "end": q.spans[0][1]},
        )
        for q in questions
    ]
    built, texts = build("answers", examples)
    read = functools.partial(answering_systems.answer, max_length=2)
    samples = answering_systems.AnswerSamples(built, questions, texts, read)
    images, lines = show(tmp_path, samples)
    if reporting.figures is not None:
        assert set(images) == {f"attention/{i}" for i in range(4)}
    (found,) = answering_systems.answer([run(built, texts)], questions, 2)
    answer = found.text
    context, question, told, reference = (
        cell.strip() for cell in lines["examples"][2].strip("|").split(" | ")
    )
    assert question == r"what is a wug 0 ?" and reference == "the"
    assert told.replace("\\", "") == answer and answer
    marked = [x[2:-2] for x in context.split() if x.startswith("**")]
    assert [x.replace("\\", "") for x in marked] == answer.split()


@pytest.mark.parametrize("total", [1, 3, 9])
def test_samples_are_spread(total):
    rows = definition_pictures.spread(total)
    assert rows[0] == 0 and rows[-1] == total - 1
    assert len(rows) == len(set(rows)) == min(total, 4)


def test_a_text_without_words_has_no_picture(tmp_path):
    examples = [
        ({"premise": text.split(), "hypothesis": ["a"]}, {"label": 0})
        for text in ("", "the dog")
    ]
    built, texts = build("entailment", examples, None)
    samples = entailment_systems.EntailmentSamples(built, texts)
    images, lines = show(tmp_path, samples)
    assert "alignment/0" not in images and len(lines["examples"]) == 4
