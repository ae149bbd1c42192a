"""Definitions whose words are read from their own definitions.

Shapes: V words of a table, E embedding size, U slots of a level.
"""

from keras import ops

_NAMES = ("ids", "owners", "weights", "counts")


def level_names(level):
    """The names of the tensors of one level of definitions, by their kind.

    Args:
        level: 0 for the definitions of words of texts, 1 for those of the
            words of these definitions, and so on.

    Returns:
        Dict of the names that a `DefinitionPacker` gives `ids`, `owners`,
        `weights` and `counts`.
    """
    suffix = f"_{level}" if level else ""
    return {name: name + suffix for name in _NAMES}


def read_levels(reader, table, definitions, headword=None, training=False):
    """Reads definitions with a reader, the deepest level first.

        h_0(w) = e(UNK)
        g_k(x) = e(x) if x is known, h_k(x) if it is defined, else e(UNK)
        h_k+1(w) = the mean over w's definitions of reader(g_k(x_1), ...)

    With K levels below level 0 the mean of what is returned is `h_K+1`. The
    mean rows of a level are further rows of the table of the level above.

    Args:
        reader: A `DefinitionReader`; with deeper levels one that returns
            vectors of size E.
        table: Embeddings of the words of definitions, `(V, E)`.
        definitions: Dict of a `DefinitionPacker`, of any `depth`.
        headword: The embedding, `(1, E)`, of the word that is being defined
            in its own definitions, id V; `None` if no ids are that large.
        training: Whether gradients will be asked for.

    Returns:
        `(U + 1, D)`, float32, the sums of each slot of level 0; row 0 is zero.

    Raises:
        ValueError: If there are deeper levels but no `headword`.

    Reference:
        The paper does not go deeper than level 0, [Bahdanau et al.,
        2017](https://arxiv.org/abs/1706.00286), section 3.
    """
    levels = _levels(definitions)
    if headword is not None:
        table = ops.concatenate([table, headword], axis=0)
    elif len(levels) > 1:
        raise ValueError(
            "Definitions of definitions are given, but only those of "
            f"`depth` 0 are read. Received: {sorted(definitions)}."
        )
    rows = table
    for level in reversed(levels[1:]):
        sums = reader(rows, level, training=training)
        counts = ops.expand_dims(ops.cast(level["counts"], "float32"), -1)
        means = sums / ops.maximum(counts, 1.0)
        rows = ops.concatenate([table, means[1:]], axis=0)
    return reader(rows, levels[0], training=training)


def _levels(definitions):
    """The levels that are given, each with plain names."""
    levels, names = [], level_names(0)
    while names["ids"] in definitions:
        levels.append({key: definitions[x] for key, x in names.items()})
        names = level_names(len(levels))
    return levels
