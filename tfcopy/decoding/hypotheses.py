"""Hypotheses of a search, and the records of their tokens.

A record is one token of a hypothesis, with a link to the record of the token
before it. Hypotheses with the same prefix share records, and a step does not
copy the tokens of a beam. Record 0 precedes the first token of all hypotheses.

Shapes: B batch, K beams, N hypotheses, L maximum length, S source steps, M
records.
"""

from typing import Any, NamedTuple

import keras
from keras import ops, tree

from tfcopy import tokens
from tfcopy.decoding import required_tokens
from tfcopy.layers.copying import MASKED
from tfcopy.layers.loop import is_history
from tfcopy.layers.tensors import copies, take, take_each, top_k

# Number of the record before the first token.
START = 0


class Records(NamedTuple):
    """Tokens of all hypotheses of a search, whether kept or not.

    Attributes:
        tables: Dict of

            - `words`, `(M, 4)`: the record of the previous token, the number of
              tokens before this one, its extended id, and the position that it
              was copied from (`tokens.GENERATE` if it was generated);
            - `log_generate`, `(M,)`: `log p(generate)` at the token;
            - `attention`, `(M, S)`: attention weights at the token; optional.
        count: Number of records; scalar.
    """

    tables: dict
    count: Any


def first_records(capacity, attention_size=None, static_shapes=False):
    """Returns `Records` with the record before the first token.

    Args:
        capacity: Maximum number of records to be added.
        attention_size: S, or `None` without attention.
        static_shapes: As in `SearchOptions`.
    """
    start = [START, -1, tokens.PAD, tokens.GENERATE]
    first = {
        "words": ops.convert_to_tensor([start], dtype="int32"),
        "log_generate": ops.convert_to_tensor([MASKED], dtype="float32"),
    }
    if attention_size is not None:
        first["attention"] = ops.zeros((1, attention_size))
    tables = {
        name: make(rows, capacity + 1, static_shapes)
        for name, rows in first.items()
    }
    return Records(tables, ops.convert_to_tensor(1))


def write(records, step, before, words, copied_from, log_generate, attention):
    """Adds a record for the new token of each beam.

    Args:
        records: `Records`.
        step: Number of tokens so far; scalar tensor.
        before: Records of the previous tokens, `(B, K)`.
        words: Extended ids, `(B, K)`.
        copied_from: `(B, K)`.
        log_generate: `(B, K)`.
        attention: `(B, K, S)`, or `None` if the records have no attention.

    Returns:
        `(records, added)`; `added` has the numbers of the new records,
        `(B, K)`.
    """
    steps = ops.zeros_like(words) + step
    links = ops.stack([before, steps, words, copied_from], axis=2)
    log_generate = ops.reshape(log_generate, (-1,))
    added = {"words": ops.reshape(links, (-1, 4)), "log_generate": log_generate}
    if attention is not None:
        added["attention"] = ops.reshape(
            attention, (-1, ops.shape(attention)[2])
        )
    tables = {
        name: extend(records.tables[name], rows, records.count)
        for name, rows in added.items()
    }
    number = ops.shape(log_generate)[0]
    numbers = ops.arange(number, dtype="int32") + records.count
    numbers = ops.reshape(numbers, (-1, words.shape[1]))
    return Records(tables, records.count + number), numbers


def read(records, last, length, longest):
    """Traces hypotheses back from their last records.

    Args:
        records: `Records`.
        last: Last record of each hypothesis, `(B, N)`.
        length: L.
        longest: Number of tokens of the longest hypothesis; scalar tensor.

    Returns:
        `(ids, copied_from, generate_probs, attention)`, `(B, N, L)`, and for
        the attention `(B, N, L, S)` or `None`. After the end they hold PAD,
        `tokens.GENERATE` and zeros.
    """
    tables = {name: content(table) for name, table in records.tables.items()}
    flat = ops.reshape(last, (-1,))
    path = ops.full((length, ops.shape(flat)[0]), START, dtype="int32")

    def trace(step, at, path):
        word = take(tables["words"], at)
        here = word[:, 1] == step
        row = ops.expand_dims(ops.where(here, at, START), 0)
        path = ops.scatter_update(path, ops.reshape(step, (1, 1)), row)
        return step - 1, ops.where(here, word[:, 0], at), path

    _, _, path = ops.while_loop(
        lambda step, at, path: step >= 0,
        trace,
        (ops.cast(longest, "int32") - 1, flat, path),
        maximum_iterations=length,
    )
    path = ops.reshape(ops.transpose(path), (*ops.shape(last), length))
    found = {name: take(table, path) for name, table in tables.items()}
    return (
        found["words"][..., 2],
        found["words"][..., 3],
        ops.exp(found["log_generate"]),
        found.get("attention"),
    )


# A lower score marks an empty slot without a hypothesis.
EMPTY = MASKED / 2


class Alive(NamedTuple):
    """Unfinished hypotheses, the best first.

    Attributes:
        log_probs: `(B, K)`; about `MASKED` for an empty slot.
        last: `(B, K)`, the record of the last token.
        words: `(B, K, L)`, all tokens so far; `(B, K, 0)` if not needed.
        coverage: `(B, K, S)`, sum of the attention so far; `(B, K, 0)` if not
            needed.
        left: `required_tokens.Left`, the required tokens that are left;
            `(B, K, 0)` if not needed.
    """

    log_probs: Any
    last: Any
    words: Any
    coverage: Any
    left: Any


class Finished(NamedTuple):
    """Hypotheses that end with EOS, the best first.

    Attributes:
        scores: `(B, K)`, the log-probabilities after the penalties; about
            `MASKED` for an empty slot.
        last: `(B, K)`, the record of EOS.
    """

    scores: Any
    last: Any


def first_hypotheses(source, options):
    """Returns `Alive`, one empty hypothesis per sentence, and empty `Finished`.

    In sampling, each beam begins with an empty hypothesis.

    Args:
        source: `Source`.
        options: `SearchOptions`.
    """
    beams = options.num_beams
    batch, size = ops.shape(source.ids)
    others = 0.0 if options.sample else MASKED
    first = ops.convert_to_tensor([0.0] + [others] * (beams - 1))
    last = ops.full((batch, beams), START, dtype="int32")
    reads_words = options.no_repeat_ngram or options.must_copy
    length = options.max_length if reads_words else 0
    width = size if options.coverage_penalty else 0
    left = ops.zeros((batch, 0), dtype="int32")
    if options.must_copy:
        left = required_tokens.first_left(source)
    alive = Alive(
        log_probs=ops.zeros((batch, beams)) + first,
        last=last,
        words=ops.full((batch, beams, length), tokens.PAD, dtype="int32"),
        coverage=ops.zeros((batch, beams, width)),
        left=add_beams(left, beams),
    )
    return alive, Finished(ops.full((batch, beams), MASKED), last)


def only(alive, kept):
    """Returns a copy with only the hypotheses of `kept`, `(B, K)`."""
    return alive._replace(log_probs=ops.where(kept, alive.log_probs, MASKED))


def count(finished):
    """Returns the number of finished hypotheses, `(B, 1)`."""
    exist = ops.cast(finished.scores > EMPTY, "int32")
    return ops.sum(exist, axis=1, keepdims=True)


def concatenate_finished(*groups):
    """Concatenates the hypotheses of several `Finished`."""
    return Finished(*(ops.concatenate(x, axis=1) for x in zip(*groups)))


def best_of(hypotheses, number, priority=None):
    """Returns `Finished`, the hypotheses with the highest priority, in order.

    Args:
        hypotheses: `Finished`, in any order, of M hypotheses.
        number: Number of hypotheses to return, at most M.
        priority: `(B, M)`; the scores themselves if `None`.
    """
    if priority is None:
        priority = hypotheses.scores
    _, chosen = top_k(priority, number)
    return Finished(*(take_each(x, chosen) for x in hypotheses))


def add_beams(nested, beams):
    """Copies each tensor `(B, ...)` for each beam, `(B, K, ...)`.

    Args:
        nested: Nested tensors and `History`s.
        beams: K.
    """

    def repeat(x):
        if is_history(x):
            return x.add_beams(beams)
        return None if tree.is_nested(x) else copies(x, beams)

    return tree.traverse(repeat, nested)


def follow(nested, parents):
    """Gathers the state of beams that extend other beams.

    Args:
        nested: State of all beams: nested tensors `(B, K, ...)` and `History`s.
        parents: The beams that are extended, `(B, K)`.
    """

    def choose(x):
        if is_history(x):
            return x.follow(parents)
        return None if tree.is_nested(x) else take_each(x, parents)

    return tree.traverse(choose, nested)


if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def make(first, capacity, static_shapes=False):
    """Makes a table with some rows, to which rows can be added.

    Args:
        first: The rows, `(N, ...)`.
        capacity: Maximum number of rows.
        static_shapes: Whether XLA compiles the loop.
    """
    if static_shapes or keras.backend.backend() != "tensorflow":
        table = ops.zeros((capacity, *first.shape[1:]), dtype=first.dtype)
        return extend(table, first, 0)
    table = tf.TensorArray(
        first.dtype,
        size=0,
        dynamic_size=True,
        infer_shape=False,
        element_shape=[None, *first.shape[1:]],
    )
    return table.write(0, first)


def extend(table, rows, count):
    """Adds rows to a table.

    Args:
        table: From `make`.
        rows: `(N, ...)`.
        count: Number of rows so far; scalar tensor.
    """
    if not ops.is_tensor(table):
        return table.write(table.size(), rows)
    places = ops.arange(ops.shape(rows)[0], dtype="int32") + count
    return ops.scatter_update(table, ops.expand_dims(places, 1), rows)


def content(table):
    """Returns all rows, `(M, ...)`; M is the capacity or the number of rows."""
    return table if ops.is_tensor(table) else table.concat()
