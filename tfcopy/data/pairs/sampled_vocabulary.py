"""Candidates of a batch's output layer: the large vocabulary trick.

Shapes: B pairs, S source positions, K candidates, V target vocabulary.
"""

import tensorflow as tf

from tfcopy import tokens

FIELDS = {
    "sources": ("source_copy_ids",),
    "batch": ("source_copy_ids", "target_ids"),
    "sample": ("source_copy_ids", "target_ids"),
}


def choose_candidates(copy_ids, vocabulary_size: int, count: int, seed=None):
    """Chooses the special tokens, the words of a batch, and others.

    Without a seed, the others are the most frequent. With one, these take half
    of the remaining places, and words drawn uniformly from all others the rest;
    each of those is weighted for the words not drawn, so that the expected sum
    over the candidates is the sum over all words.

    If the batch holds more words than there are places, the most frequent are
    kept. Ids are assumed to be ordered by frequency, as in a counted
    `Vocabulary`.

    Args:
        copy_ids: Words of the target vocabulary, of any shape; ids outside of
            it are ignored.
        vocabulary_size: V.
        count: K; all words if it is larger than V.
        seed: Two integers, or `None`.

    Returns:
        `(candidate_ids, log_weights)`: `(K,)`, int32, ascending, and `(K,)`,
        the logs of the numbers of words that each represents.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 5.1;
        for the weights
        [Jean et al., 2015](https://arxiv.org/abs/1412.2007), section 3.1.
    """
    count = min(count, vocabulary_size)
    ids = tf.range(vocabulary_size)
    words = tf.reshape(copy_ids, [-1])
    words = tf.boolean_mask(words, (words >= 0) & (words < vocabulary_size))
    in_batch = tf.scatter_nd(
        words[:, None], tf.ones_like(words), [vocabulary_size]
    )
    special = ids < len(tokens.SPECIAL_TOKENS)
    rank = tf.where(in_batch > 0, ids - vocabulary_size, ids)
    rank = tf.where(special, ids - 2 * vocabulary_size, rank)
    if seed is None:
        _, chosen = tf.math.top_k(-rank, count)
        return tf.sort(chosen), tf.zeros([count])
    num_needed = tf.math.count_nonzero(rank < 0, dtype=tf.int32)
    certain = (tf.minimum(num_needed, count) + count) // 2
    is_certain = tf.argsort(tf.argsort(rank)) < certain
    # Certain words come first, the others in random order.
    keys = tf.random.stateless_uniform([vocabulary_size], seed)
    _, chosen = tf.math.top_k(-tf.where(is_certain, -1.0, keys), count)
    chosen = tf.sort(chosen)
    each = (vocabulary_size - certain) / tf.maximum(count - certain, 1)
    weights = tf.where(
        tf.gather(is_certain, chosen), 1.0, tf.cast(each, tf.float32)
    )
    return chosen, tf.math.log(weights)


def add_candidates(
    dataset,
    vocabulary_size: int,
    count: int | None = None,
    words_of: str = "sources",
):
    """Adds `candidate_ids` and `candidate_log_weights` to batches.

    Args:
        dataset: Dataset of dicts, as `pipeline.batches` returns.
        vocabulary_size: V.
        count: K; `None` for the whole vocabulary, as for a dev score that is
            to be compared with others.
        words_of: Words that come before the most frequent ones: words of the
            batch's `"sources"`, as in the paper, where both sides share a
            language; or of the whole `"batch"`, sources and targets. `"sample"`
            is like `"batch"`, but half of the others are drawn, with a seed
            made from the batch itself.

    Raises:
        ValueError: If `count` has no room for the special tokens.
    """
    count = vocabulary_size if count is None else count

    def add(batch):
        words = [tf.reshape(batch[x], [-1]) for x in FIELDS[words_of]]
        words, seed = tf.concat(words, 0), None
        if words_of == "sample":
            seed = [tf.reduce_sum(batch[x]) for x in FIELDS[words_of]]
        chosen, weights = choose_candidates(words, vocabulary_size, count, seed)
        return {
            **batch,
            "candidate_ids": chosen,
            "candidate_log_weights": weights,
        }

    return dataset.map(add, num_parallel_calls=1)
