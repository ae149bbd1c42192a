"""Which words the output layer of a batch knows: the large vocabulary trick.

Shapes: B pairs, S source positions, K candidates, V target vocabulary.
"""

import tensorflow as tf

from tfcopy import tokens


def choose_candidates(source_copy_ids, vocabulary_size: int, count: int):
    """The special tokens, the words of the sources, and the most frequent.

    Where the sources hold more words than there is room, the most frequent of
    them are kept. Ids are taken to be ordered by frequency, as those of a
    `Vocabulary` that was counted are.

    Args:
        source_copy_ids: `(B, S)`.
        vocabulary_size: V.
        count: K; all words if it is larger than V.

    Returns:
        `(K,)`, int32, ascending.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 5.1.
    """
    count = min(count, vocabulary_size)
    ids = tf.range(vocabulary_size)
    words = tf.reshape(source_copy_ids, [-1])
    known = (words >= 0) & (words < vocabulary_size)
    words = tf.boolean_mask(words, known)
    in_source = tf.scatter_nd(
        words[:, None], tf.ones_like(words), [vocabulary_size]
    )
    special = ids < len(tokens.SPECIAL_TOKENS)
    rank = tf.where(in_source > 0, ids - vocabulary_size, ids)
    rank = tf.where(special, ids - 2 * vocabulary_size, rank)
    _, chosen = tf.math.top_k(-rank, count)
    return tf.sort(chosen)


def with_candidates(dataset, vocabulary_size: int, count: int | None = None):
    """The batches, each with the `candidate_ids` of its own sources.

    Args:
        dataset: Dataset of dicts, as `pipeline.batches` gives.
        vocabulary_size: V.
        count: K; `None` for the whole vocabulary, as for a dev score that is
            to be compared with others.

    Raises:
        ValueError: If `count` has no room for the special tokens.
    """
    if count is not None and count <= len(tokens.SPECIAL_TOKENS):
        raise ValueError(
            f"`count` must be above {len(tokens.SPECIAL_TOKENS)}, the number "
            f"of special tokens. Received: count={count}."
        )
    count = vocabulary_size if count is None else count

    def add(batch):
        chosen = choose_candidates(
            batch["source_copy_ids"], vocabulary_size, count
        )
        return {**batch, "candidate_ids": chosen}

    return dataset.map(add, num_parallel_calls=1)
