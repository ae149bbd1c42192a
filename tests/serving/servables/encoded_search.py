"""Searches for the answers to a corpus that is encoded already.

Shapes: L longest answer.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.runtime.batches import make_progress_bar

_IDS = tf.TensorSpec([None, None], tf.int32)


def search_all(
    translator, batches: Iterable[dict], total: int, progress: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Searches for the best answer to each sentence.

    Args:
        translator: `Translator`.
        batches: Dicts with `source_ids`, `source_copy_ids` and `indices`, as
            `data.evaluation_batches` yields, and with what else the model's
            `encode` takes.
        total: Number of sentences.
        progress: Whether to show a bar (on a terminal only).

    Returns:
        `(ids, copied_from, scores)`: int32 `(total, L)` twice and float32
        `(total,)`, in the order of the indices.
    """
    shape = (total, translator.options.max_length)
    ids = np.full(shape, special.PAD, np.int32)
    copied_from = np.full(shape, special.GENERATE, np.int32)
    scores = np.zeros(total, np.float32)
    names = getattr(translator.model, "source_inputs", ())
    search = _graph(translator, names)
    with make_progress_bar(total, progress) as bar:
        for batch in batches:
            inputs = {name: batch[name] for name in names}
            result = search(
                batch["source_ids"], batch["source_copy_ids"], inputs
            )
            rows = np.asarray(batch["indices"])
            ids[rows] = result.ids[:, 0]
            copied_from[rows] = result.copied_from[:, 0]
            scores[rows] = result.scores[:, 0]
            bar.update(len(rows))
    return ids, copied_from, scores


def _graph(translator, names):
    """One graph for batches of all sizes."""
    inputs = {name: translator.model.input[name] for name in names}
    specs = {k: tf.TensorSpec(x.shape, x.dtype) for k, x in inputs.items()}

    # Ids do not show which words are protected: none is required.
    options = translator.search_options()
    options = dataclasses.replace(options, must_copy=False)

    def search(source_ids, source_copy_ids, inputs):
        return translator.source_search.search(
            source_ids, source_copy_ids, options, source_inputs=inputs
        )

    return tf.function(search, [_IDS, _IDS, specs], autograph=False)
