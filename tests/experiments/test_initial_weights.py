"""--init_from: what is taken of an earlier run, and what is told."""

import keras
import numpy as np
import pytest

from tests.serving.servables.translators import SOURCE, random_translator
from tests.serving.test_export_command import make_run
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments import initial_weights
from tfcopy.serving.servables import storage
from tfcopy.training.checkpoints import Checkpoints


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The folder of a run with one system, and its translator."""
    run = make_run(tmp_path_factory.mktemp("earlier") / "own")
    translator = random_translator()
    folder = run / "pointer_softmax"
    storage.save(translator, folder, warmup_texts=["x"], details={})
    weights = translator.model.get_weights()
    Checkpoints(folder / "checkpoints").save_best(weights, {})
    return run, translator


class Served:
    """What serves a model, as far as vocabularies go."""

    def __init__(self, source, target):
        self.source_vocabulary, self.target_vocabulary = source, target


def test_all_is_taken_by_a_model_of_the_same_words(earlier):
    run, translator = earlier
    for folder in (run, run / "pointer_softmax"):
        other = random_translator()
        for weight in other.model.weights:
            weight.assign(np.zeros(weight.shape))
        line = initial_weights.take(
            str(folder), "pointer_softmax", other.model, other
        )
        count = len(other.model.weights)
        assert line.endswith(f"pointer_softmax: {count} of {count} taken.")
        for one, expected in zip(
            other.model.get_weights(), translator.model.get_weights()
        ):
            np.testing.assert_array_equal(one, expected)


def test_new_words_are_new_and_others_keep_their_vectors(earlier):
    run, translator = earlier
    # The same number of words, one of them another, in another order.
    words = (*SOURCE.words[:4], SOURCE.words[-1], "wug", *SOURCE.words[4:-2])
    served = Served(Vocabulary(words), translator.target_vocabulary)
    other = random_translator()
    table = other.model.source_embedding.embeddings
    table.assign(np.full(table.shape, 7.0))
    line = initial_weights.take(str(run), "nmt", other.model, served)
    assert f"1 of {len(words)} words new in {table.path}" in line
    known = translator.model.source_embedding.embeddings.numpy()
    for i, word in enumerate(words):
        expected = np.full(known.shape[1], 7.0)
        if word != "wug":
            expected = known[SOURCE.words.index(word)]
        np.testing.assert_array_equal(table.numpy()[i], expected)


def test_what_does_not_fit_is_told(earlier, tmp_path):
    run, translator = earlier
    model = translator.model
    with pytest.raises(ValueError, match="--init_from .*no such folder"):
        initial_weights.take(str(tmp_path / "none"), "a", model, translator)
    with pytest.raises(ValueError, match="--init_from .*no weight in common"):
        initial_weights.take(
            str(run),
            "pointer_softmax",
            keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]),
            None,
        )
