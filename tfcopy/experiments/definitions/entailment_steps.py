"""Pairs of sentences and their labels: reading, labelling, scoring, showing."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from keras import ops

from tfcopy.data.corpora.corpus import Split
from tfcopy.data.corpora.nli import LABELS
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.parallel import map_chunks
from tfcopy.data.text.tokenization import Tokenizer, string_tensor
from tfcopy.experiments import reporting


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

    chunks = map_chunks(
        tokenize,
        split,
        total=split.num_pairs,
        description="Tokenising sentences",
    )
    for chunk in chunks:
        for *sides, label in chunk:
            words = [[x.decode() for x in side[:max_length]] for side in sides]
            yield dict(zip(("premise", "hypothesis"), words)), {"label": label}


def probabilities(predictions: Iterable) -> np.ndarray:
    """Computes the probabilities of the labels, `(examples, 3)`.

    Args:
        predictions: Batches, each with the scores of its labels.
    """
    return np.concatenate(
        [
            ops.convert_to_numpy(ops.softmax(logits, axis=-1))
            for _, logits in predictions
        ]
    )


def is_right(label_probabilities: np.ndarray, texts: WordTexts) -> np.ndarray:
    """Returns whether each example is labelled correctly, `(examples,)`."""
    return label_probabilities.argmax(-1) == texts.labels["label"]


def score(right: np.ndarray) -> dict:
    """Computes the percentage of correct labels, with a 95 % interval."""
    accuracy = 100 * float(right.mean())
    return reporting.share("accuracy", accuracy, len(right))


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
            words = texts.tokens(name, i)
            reporting.print_text(name, " ".join(words), width)
        for name, rows in answers.items():
            best = rows[i].argmax()
            label = f"{LABELS[best]} ({100 * rows[i][best]:.0f} %)"
            print(f"{name:{width}}{label}")
        print(f"{'truth':{width}}{LABELS[texts.labels['label'][i]]}")
