"""The loop over the steps of a search, for a whole batch.

A search is cheapest if finished sentences leave the batch. XLA, and thus JAX,
supports only static shapes. There the loop runs until the last sentence is
finished.
"""

import math

import keras
from keras import ops, tree

from tfcopy.layers.loop import has_history, is_history, reserve_room

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

# Finished sentences leave the batch once at most this share of it is left: the
# gather of the other sentences has a cost, too.
_WORTH_LEAVING = 0.8
# The shapes of multiplied matrices affect the rounding of sums. For numbers of
# sentences that are multiples of this one, the rounding is the same.
_MULTIPLE = 8
# With static shapes, a step attends to all rows of a history, even if empty.
# Most outputs are shorter than this share of the maximum length.
_SHORT = 1 / 3


def run(search, size, records, options):
    """Runs a search to its end.

    Args:
        search: An object with these methods:

            - `sentences(numbers)`: returns the inputs of a step for the
              sentences with these numbers, `(B,)`;
            - `first_state(sentences)`: returns their state before the first
              step;
            - `step(step, state, records, sentences)`: returns
              `(state, records)`;
            - `unfinished(state)`: returns which sentences need more steps,
              `(B,)`;
            - `outcome(step, state, sentences)`: returns nested tensors
              `(B, ...)`;
            - `take(state, places)`: returns the state of some sentences,
              `(B,)`.
        size: The number of sentences.
        records: `Records`.
        options: `SearchOptions`.

    Returns:
        `(step, outcome, records)`: the number of steps, the outcome of each
        sentence, and `Records`.
    """
    if options.static_shapes or keras.backend.backend() != "tensorflow":
        return _run_static(search, size, records, options)
    max_length = options.max_length
    multiple = _MULTIPLE if options.same_in_every_batch else 1
    numbers = tf.range(size)
    sentences = search.sentences(numbers)
    step, state = tf.constant(0), search.first_state(sentences)
    outcome = search.outcome(step, state, sentences)

    def anything_left(step, numbers, state, *_):
        return (step < max_length) & tf.reduce_any(search.is_unfinished(state))

    def shrink(step, numbers, state, records, outcome):
        sentences = search.sentences(numbers)
        size = tf.size(numbers)
        enough = tf.cast(_WORTH_LEAVING * tf.cast(size, tf.float32), tf.int32)

        def go_on(step, state, records):
            left = _number_left(search, state)
            is_large = _round_up(left, multiple) > enough
            return (step < max_length) & (left > 0) & is_large

        def advance(step, state, records):
            return step + 1, *search.step(step, state, records, sentences)

        variables = step, state, records
        step, state, records = tf.while_loop(
            go_on, advance, variables, shape_invariants=_relax(variables)
        )
        outcome = tf.nest.map_structure(
            lambda all_, part: tf.tensor_scatter_nd_update(
                all_, numbers[:, None], part
            ),
            outcome,
            search.outcome(step, state, sentences),
        )
        unfinished = search.is_unfinished(state)
        left = _number_left(search, state)
        left = tf.minimum(_round_up(left, multiple), size)
        # The unfinished sentences, in order, then some finished ones.
        _, rows = tf.math.top_k(tf.cast(unfinished, tf.int32), left)
        state = search.take(state, rows)
        return step, tf.gather(numbers, rows), state, records, outcome

    variables = step, numbers, state, records, outcome
    step, _, _, records, outcome = tf.while_loop(
        anything_left, shrink, variables, shape_invariants=_relax(variables)
    )
    return step, outcome, records


def _rooms(state, options):
    """Returns the number of steps up to which each of the loops runs.

    There are at most two loops: XLA in TensorFlow 2.21 refuses a third loop
    over the same constants (tensorflow#122886).
    """
    longest = options.max_length
    if not has_history(state) or longest == 1:
        return [longest]
    return [math.ceil(_SHORT * longest), longest]


def _run_static(search, size, records, options):
    sentences = search.sentences(ops.arange(size, dtype="int32"))
    state = search.first_state(sentences)
    variables = ops.convert_to_tensor(0), state, records
    for room in _rooms(state, options):

        def go_on(step, state, records, room=room):
            return (step < room) & ops.any(search.is_unfinished(state))

        def advance(step, state, records):
            return step + 1, *search.step(step, state, records, sentences)

        step, state, records = variables
        state = reserve_room(state, room)
        variables = ops.while_loop(go_on, advance, (step, state, records))
    step, state, records = variables
    return step, search.outcome(step, state, sentences), records


def _number_left(search, state):
    return tf.reduce_sum(tf.cast(search.is_unfinished(state), tf.int32))


def _round_up(number, multiple):
    """Rounds up to a multiple, never zero: a step needs at least a sentence."""
    return tf.maximum((number - 1) // multiple + 1, 1) * multiple


def _relax(variables):
    """Returns the shapes of a loop's variables, whose first axis may change.

    The third axis of a `History` may change, too.
    """
    return tree.traverse(_invariant, variables)


def _invariant(x):
    if is_history(x):
        grown = tf.nest.map_structure(_any_rows, x)
        rows = tf.nest.map_structure(_any_third, grown.rows)
        return grown._replace(rows=rows, own=_any_third(grown.own))
    return None if tree.is_nested(x) else _any_rows(x)


def _any_third(shape):
    return tf.TensorShape([*shape[:2], None, *shape[3:]])


def _any_rows(x):
    if isinstance(x, tf.TensorArray):
        return tf.TensorShape([])
    shape = tf.convert_to_tensor(x).shape
    return tf.TensorShape([None, *shape[1:]]) if shape.rank else shape
