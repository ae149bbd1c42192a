"""The paper's pictures of what definitions change, for a run's folder.

Each is written as PNG and to TensorBoard. Without matplotlib there are none;
the map of nouns needs scikit-learn as well.
"""

import os

import keras
import numpy as np
import tensorflow as tf

from tfcopy import evaluation, tokens
from tfcopy.evaluation import translations
from tfcopy.experiments import reporting

try:
    from tfcopy.figures import definition_figures
except ImportError:  # matplotlib is an extra
    definition_figures = None


def draw_reading(built, questions, answers, texts, folder):
    """Draws where two systems look, `reading.png`: attention on a question.

    That is the one which `better` has right, `worse` has not, and where the
    true answer gains most in probability.

    Args:
        built: Two systems to their `Built`, of `coattention` models: the worse
            one and the better one.
        questions: `TokenizedQuestion`s.
        answers: System to an object with `texts`, `spans` and `log_probs`.
        texts: `WordTexts` of the questions.
        folder: Of the run.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), Figure 2.
    """
    if definition_figures is None:
        return
    pair = worse, better = tuple(built)
    right = {
        name: np.array(
            [
                text in question.references
                for text, question in zip(answers[name].texts, questions)
            ]
        )
        for name in pair
    }
    chosen = evaluation.choose_examples(
        {name: np.array(answers[name].log_probs) for name in pair},
        right,
        better,
        worse,
    )
    if not len(chosen):
        print(f"No question that {better} has right and {worse} has not.")
        return
    number = int(chosen[0])
    question = questions[number]
    end = [tokens.SPECIAL_TOKENS[tokens.EOS]]
    picture = definition_figures.reading_figure(
        question.context_tokens + end,
        question.question_tokens + end,
        {name: attention(built[name], texts, number) for name in pair},
        {name: answers[name].spans[number] for name in pair},
        question.spans[0],
    )
    _keep(picture, "reading", folder)


def attention(built, texts, number):
    """The attention of a context over its question, `(N, M)`.

    Args:
        built: `Built` of a `coattention` model.
        texts: `WordTexts`.
        number: Of the question.
    """
    model = built.model
    (batch,) = built.batches.evaluation(texts.subset([number]), 1)
    inputs = {name: batch[name] for name in model.input}
    layer = model.get_layer("coattention")
    _, weights, _ = keras.Model(model.input, layer.output)(inputs)
    return keras.ops.convert_to_numpy(weights)[0]


def draw_rarity(right, texts, vocabulary, folder, bins=5):
    """Draws accuracy by how rare the words are, `rarity.png`.

    Args:
        right: System to a boolean array, `(examples,)`.
        texts: `WordTexts`.
        vocabulary: Of the training text, its most frequent words first.
        folder: Of the run.
        bins: Number of groups of examples.

    Returns:
        Dict from a system to its `(x, accuracy)` pairs.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), Figure 4.
    """
    known = np.array([vocabulary.id(word) for word in texts.words])
    rows = [
        np.concatenate([known[text[i]] for text in texts.texts.values()])
        for i in range(len(texts))
    ]
    ranks = evaluation.mean_log_rank(rows, vocabulary)
    curves = {}
    for name, is_right in right.items():
        found = evaluation.accuracy_by_quantile(ranks, is_right, bins)
        centres, accuracies, sizes = found
        low, high = zip(*map(translations.interval, accuracies, sizes))
        curves[name] = centres, accuracies, np.array(low), np.array(high)
    if definition_figures is not None:
        _keep(definition_figures.rarity_figure(curves), "rarity", folder)
    return {
        name: [[round(float(v), 3) for v in pair] for pair in zip(x, y)]
        for name, (x, y, *_) in curves.items()
    }


def draw_categories(model, features, categories, folder):
    """Draws what definitions add to embeddings of nouns, `categories.png`.

    Args:
        model: With a `DefinitionEmbedding` named `embedding`.
        features: Its `DefinitionFeatures`.
        categories: Category to its nouns.
        folder: Of the run.

    Returns:
        The scores of `evaluation.category_scores` on the vectors themselves;
        `None` if fewer than two categories have two nouns with definitions.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), Figure 3.
    """
    nouns = {x: name for name, members in categories.items() for x in members}
    entries = features.lookup.entries(tf.constant(list(nouns)))
    # As of words that are not known: less what these have without definitions.
    unknown = np.full((1, len(nouns)), tokens.UNK, np.int32)
    pack = features.packer.pack(entries[None], unknown)
    embedding = model.get_layer("embedding")
    vectors = embedding(unknown, pack) - embedding(unknown)
    vectors = keras.ops.convert_to_numpy(vectors)[0]
    kept = np.flatnonzero(np.any(pack["slots"], axis=(0, 2)))
    words = [list(nouns)[i] for i in kept]
    groups = [nouns[word] for word in words]
    sizes = [groups.count(group) for group in set(groups)]
    if len(sizes) < 2 or min(sizes) < 2:
        return None
    scores = evaluation.category_scores(vectors[kept], groups)
    if definition_figures is not None:
        try:
            points = evaluation.project(vectors[kept])
        except ImportError as error:
            print(f"Warning: no picture of nouns ({error}).")
            return scores
        _keep(
            definition_figures.categories_figure(points, words, groups),
            "categories",
            folder,
        )
    return scores


def _keep(picture, name, folder):
    path = os.path.join(folder, f"{name}.png")
    reporting.keep_picture(picture, path)
    print(f"Drawn: {reporting.shown(path)}")
