"""The paper's pictures of what definitions change, for a run's folder.

Each is written as PNG and to TensorBoard. Without matplotlib there are none;
the map of nouns needs scikit-learn as well.
"""

import os

import keras
import numpy as np
import tensorflow as tf

from tfcopy import tokens
from tfcopy.evaluation import example_choice, rarity, translations
from tfcopy.evaluation.categories import category_scores, project
from tfcopy.experiments import reporting
from tfcopy.experiments.optional_figures import figures
from tfcopy.serving.saved_model import shown


def draw_reading(systems, questions, answers, texts, folder):
    """Draws where two systems look, `reading.png`: attention on a question.

    Of the questions that only the better system answers rightly, it is the one
    whose true answer gains most in probability.

    Args:
        systems: Dict from the names of two systems to their `TextSystem`s, of
            `coattention` models: the worse one and the better one.
        questions: `TokenizedQuestion`s.
        answers: Dict from systems to their `FoundAnswer`s.
        texts: `WordTexts` of the questions.
        folder: The run's folder.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), Figure 2.
    """
    if figures is None:
        return
    worse, better = systems
    right = {
        name: np.array(
            [
                answer.text in question.references
                for answer, question in zip(answers[name], questions)
            ]
        )
        for name in systems
    }
    log_probs = {
        name: np.array([answer.log_prob for answer in answers[name]])
        for name in systems
    }
    chosen = example_choice.choose_examples(log_probs, right, better, worse)
    if not len(chosen):
        print(f"{better} answers no question right that {worse} gets wrong.")
        return
    number = int(chosen[0])
    question = questions[number]
    end = [tokens.SPECIAL_TOKENS[tokens.EOS]]
    picture = figures.reading_figure(
        question.context_tokens + end,
        question.question_tokens + end,
        {name: attention(systems[name], texts, number) for name in systems},
        {name: answers[name][number].span for name in systems},
        question.spans[0],
    )
    _keep(picture, "reading", folder)


def attention(text_system, texts, number):
    """The attention of a context over its question, `(N, M)`.

    Args:
        text_system: `TextSystem` of a `coattention` model.
        texts: `WordTexts` of questions.
        number: The number of the question.
    """
    model = text_system.model
    (batch,) = text_system.batches.evaluation(texts.subset([number]), 1)
    inputs = {name: batch[name] for name in model.input}
    layer = model.get_layer("coattention")
    _, weights, _ = keras.Model(model.input, layer.output)(inputs)
    return keras.ops.convert_to_numpy(weights)[0]


def draw_rarity(right, texts, vocabulary, folder, bins=5):
    """Draws accuracy by how rare the words are, `rarity.png`.

    Args:
        right: Dict from systems to boolean arrays, `(examples,)`.
        texts: `WordTexts` of the examples.
        vocabulary: `Vocabulary` of the training text, its most frequent words
            first.
        folder: The run's folder.
        bins: Number of groups of examples.

    Returns:
        Dict from systems to their `(x, accuracy)` pairs.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), Figure 4.
    """
    ids = np.array([vocabulary.id(word) for word in texts.words])
    rows = [
        np.concatenate([ids[text[i]] for text in texts.texts.values()])
        for i in range(len(texts))
    ]
    ranks = rarity.mean_log_rank(rows, vocabulary)
    curves = {}
    for name, is_right in right.items():
        centres, accuracies, sizes = rarity.accuracy_by_quantile(
            ranks, is_right, bins
        )
        low, high = zip(*map(translations.interval, accuracies, sizes))
        curves[name] = centres, accuracies, np.array(low), np.array(high)
    if figures is not None:
        _keep(figures.rarity_figure(curves), "rarity", folder)
    return {
        name: [[round(float(v), 3) for v in pair] for pair in zip(x, y)]
        for name, (x, y, *_) in curves.items()
    }


def draw_categories(text_system, categories, folder):
    """Draws what definitions add to embeddings of nouns, `categories.png`.

    Args:
        text_system: `TextSystem` that reads definitions.
        categories: Dict from categories to their nouns.
        folder: The run's folder.

    Returns:
        The scores of `category_scores` on the vectors themselves;
        `None` if fewer than two categories have two nouns with definitions.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), Figure 3.
    """
    features = text_system.features
    nouns = {x: name for name, members in categories.items() for x in members}
    entries = features.lookup.entries(tf.constant(list(nouns)))
    # Unknown words, less what these have without definitions.
    unknown = np.full((1, len(nouns)), tokens.UNK, np.int32)
    pack = features.packer.pack(entries[None], unknown)
    embedding = text_system.model.get_layer("embedding")
    vectors = embedding(unknown, pack) - embedding(unknown)
    vectors = keras.ops.convert_to_numpy(vectors)[0]
    kept = np.flatnonzero(np.any(pack["slots"], axis=(0, 2)))
    words = [list(nouns)[i] for i in kept]
    groups = [nouns[word] for word in words]
    sizes = [groups.count(group) for group in set(groups)]
    if len(sizes) < 2 or min(sizes) < 2:
        return None
    scores = category_scores(vectors[kept], groups)
    if figures is not None:
        try:
            points = project(vectors[kept])
        except ImportError as error:
            print(f"Warning: no picture of nouns ({error}).")
            return scores
        _keep(
            figures.categories_figure(points, words, groups),
            "categories",
            folder,
        )
    return scores


def _keep(picture, name, folder):
    path = os.path.join(folder, f"{name}.png")
    reporting.keep_picture(picture, path)
    print(f"Picture: {shown(path)}")
