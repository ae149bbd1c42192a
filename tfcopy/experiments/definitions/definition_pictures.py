"""Effects of definitions: samples, the paper's pictures, and the best system.

Each picture is written as PNG and to TensorBoard. Without matplotlib there are
none; the map of nouns needs scikit-learn as well.
"""

from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from tfcopy import tokens
from tfcopy.evaluation import translations
from tfcopy.evaluation.definition_scores import category_scores, project
from tfcopy.experiments import reporting
from tfcopy.experiments.definitions.definition_flags import WordSources
from tfcopy.experiments.run import Run
from tfcopy.serving.saved_model import shorten_path
from tfcopy.terminal import one_line

_COUNT = 4  # examples that TensorBoard shows


class Sample:
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

    def is_defined(self, i, name):
        """Returns whether each word of a text has definitions."""
        count = len(self.words[i][name])
        slots = self.batch.get(f"{name}_slots")
        if slots is None:
            return [False] * count
        return np.any(slots[i][:count], axis=-1).tolist()


def spread(total):
    """Returns a few numbers below `total`, from 0 to the last."""
    return np.unique(np.linspace(0, total - 1, _COUNT).astype(int))


def probabilities(scores) -> np.ndarray:
    """Computes the softmax of scores of any precision."""
    scores = keras.ops.cast(scores, "float32")
    return keras.ops.convert_to_numpy(keras.ops.softmax(scores, axis=-1))


def attention(text_system, texts, rows) -> Sample:
    """Returns a sample whose details are attention weights, `(B, N, M)`.

    Args:
        text_system: `TextSystem` of a `coattention` model.
        texts: `WordTexts` of questions.
        rows: The numbers of the questions.
    """
    layer = text_system.model.get_layer("coattention")
    return Sample(text_system, texts, rows, layer.output[1])


def choose_example(questions, answers, worse: str, better: str) -> int | None:
    """Returns a question that only the better system answers rightly.

    It is the one whose true answer gains most in probability.

    Args:
        questions: `TokenizedQuestion`s.
        answers: Dict from systems to their `FoundAnswer`s.
        worse: Name of a system.
        better: Name of another.

    Returns:
        The number of the question; `None` if there is none.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 4.1.
    """
    gains = {}
    for i, question in enumerate(questions):
        one, other = answers[better][i], answers[worse][i]
        is_right = [x.text in question.references for x in (one, other)]
        if is_right == [True, False]:
            # Both probabilities may be 0.
            gains[i] = np.nan_to_num(one.log_prob - other.log_prob)
    return max(gains, key=gains.get, default=None)


def draw_reading(systems, questions, answers, texts, folder):
    """Draws where two systems look, `reading.png`: attention on a question.

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
    if reporting.figures is None:
        return
    worse, better = systems
    number = choose_example(questions, answers, worse, better)
    if number is None:
        print(f"{better} answers no question right that {worse} gets wrong.")
        return
    weights = {
        name: attention(x, texts, [number])()[1][0]
        for name, x in systems.items()
    }
    spans = {name: answers[name][number].span for name in systems}
    _keep(plot_reading(questions[number], weights, spans), "reading", folder)


def plot_reading(question, weights, spans):
    """Plots the attention of systems over a `TokenizedQuestion`.

    Args:
        question: The question.
        weights: As in `reading_figure`, by system.
        spans: Answers of the systems, as in `reading_figure`.
    """
    end = [tokens.SPECIAL_TOKENS[tokens.EOS]]
    return reporting.figures.plot_reading(
        question.context_tokens + end,
        question.question_tokens + end,
        weights,
        spans,
        question.spans[0],
    )


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
    ranks = translations.mean_log_rank(rows, vocabulary)
    curves = {}
    for name, is_right in right.items():
        centres, accuracies, sizes = translations.accuracy_by_quantile(
            ranks, is_right, bins
        )
        low, high = zip(*map(translations.interval, accuracies, sizes))
        curves[name] = centres, accuracies, np.array(low), np.array(high)
    if reporting.figures is not None:
        _keep(reporting.figures.rarity_figure(curves), "rarity", folder)
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
    nouns = {x: name for name, members in categories.items() for x in members}
    entries = text_system.features.lookup.entries(tf.constant(list(nouns)))
    # Unknown words, less what these have without definitions.
    unknown = np.full((1, len(nouns)), tokens.UNK, np.int32)
    pack = text_system.features.packer.pack(entries[None], unknown)
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
    if reporting.figures is not None:
        try:
            points = project(vectors[kept])
        except ImportError as error:
            print(f"Warning: no picture of nouns ({one_line(error)}).")
            return scores
        image = reporting.figures.categories_figure(points, words, groups)
        _keep(image, "categories", folder)
    return scores


def _keep(picture, name, folder):
    path = reporting.keep_picture(picture, folder, name)
    print(f"Picture: {shorten_path(path)}")


def finish(
    run: Run,
    sources: Mapping[str, WordSources],
    score: str,
    ends: tuple[str, str],
    **more,
) -> dict:
    """Exports the best system, writes the results, prints the next steps.

    Args:
        run: The run, with the results of its systems.
        sources: `WordSources` of each of them.
        score: Name of the figure that chooses the best system, on the
            validation set.
        ends: The baseline, and the system that knows all words; see
            `gap_closed`.
        **more: What else results.json holds.

    Returns:
        What results.json holds.
    """
    closed = {}
    if run.config.corpus == "demo":
        of_gap = "after_oov" if score == "perplexity" else score
        closed = gap_closed(run.results, *ends, of_gap)
        print_gap(closed, *ends)
    if run.config.corpus == "files":  # Of other data than the paper's.
        more["paper"] = {}
    best = best_system(run.results, sources, score)
    return run.finish(best, gap_closed=closed, of_dev=(), **more)


def best_system(
    results: Mapping[str, Mapping],
    sources: Mapping[str, WordSources],
    score: str,
) -> reporting.ExportChoice:
    """Returns the best system, of those that read definitions if any do.

    Args:
        results: Dict from systems to their results, with `dev_<score>`.
        sources: `WordSources` of each of them.
        score: Name of a figure.
    """
    reading = [x for x in results if sources[x].reads == "definitions"]
    return reporting.best(
        score,
        {name: results[name][f"dev_{score}"] for name in reading or results},
        lowest=score == "perplexity",
    )


def worse_and_better(
    results: Mapping[str, Mapping],
    sources: Mapping[str, WordSources],
    score: str,
) -> tuple[str, ...]:
    """Returns two systems, the second of which reads more about words.

    Returns:
        The names; none if there is no such pair.
    """
    reading = [name for name in results if sources[name].reads_more]
    if not reading or len(results) < 2:
        return ()
    better = max(reading, key=lambda name: results[name][f"dev_{score}"])
    return next(name for name in results if name != better), better


def gap_closed(
    results: Mapping[str, Mapping], baseline: str, best: str, score: str
) -> dict[str, float]:
    """Computes the share of the gap between two systems that others close.

    Only where the invented words are those that training never shows: the
    baseline learns the others.

    Args:
        results: Dict from systems to their results, with the results of the
            `groups` of examples.
        baseline: The system that cannot know these words.
        best: The system that knows them.
        score: Name of a figure.
    """
    if not {baseline, best} <= results.keys():
        return {}
    values = {name: x["groups"]["unseen"][score] for name, x in results.items()}
    low, high = values[baseline], values[best]
    return {
        name: round(100 * (value - low) / (high - low), 1)
        for name, value in values.items()
        if name not in (baseline, best) and high != low
    }


def print_gap(closed: Mapping[str, float], baseline: str, best: str):
    """Prints the shares that `gap_closed` returns."""
    for name, share in closed.items():
        print(
            f"On words never seen in training, {name} closes {share:.0f} % "
            f"of the gap between {baseline}, which cannot know them, and "
            f"{best}, which can."
        )
