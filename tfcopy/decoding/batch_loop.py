"""The loop of a search over steps, for a whole batch.

A search is cheapest if sentences that are done leave the batch. XLA, and so
JAX, knows static shapes alone: there the loop runs until the last sentence is
done.
"""

import math

import keras
from keras import ops, tree

from tfcopy.layers.loop import has_history, is_history, with_room

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

# Sentences leave together, since a gather of what is left costs, too.
_WORTH_LEAVING = 0.8
# How sums are rounded depends on the shapes of the matrices multiplied, but
# not among numbers of sentences that are a multiple of this.
_MULTIPLE = 8
# Where shapes are static, a step attends to all rows that a history has room
# for. Most answers take less than this share of the greatest length.
_SHORT = 1 / 3


def run(search, state, records, options):
    """Runs a search to its end.

    Args:
        search: An object of

            - `sentences(numbers)`: what a step reads of the sentences of these
              numbers, `(B,)`;
            - `step(step, state, records, sentences)`: gives `(state, records)`;
            - `unfinished(state)`: which sentences need more steps, `(B,)`;
            - `outcome(step, state, sentences)`: a nested structure of tensors
              `(B, ...)`;
            - `take(state, places)`: the state of some sentences, `(B,)`.
        state: What a step changes, of all sentences, before the first step.
        records: `Records`.
        options: `SearchOptions`.

    Returns:
        `(step, outcome, records)`: the number of steps, the outcome of each
        sentence, and `Records`.
    """
    if options.static_shapes or keras.backend.backend() != "tensorflow":
        return _run_static(search, state, records, options)
    max_length = options.max_length
    multiple = _MULTIPLE if options.same_in_every_batch else 1
    size = tf.shape(search.unfinished(state))[0]
    numbers = tf.range(size)
    step = tf.constant(0)
    outcome = search.outcome(step, state, search.sentences(numbers))

    def anything_left(step, numbers, state, *_):
        return (step < max_length) & tf.reduce_any(search.unfinished(state))

    def shrink(step, numbers, state, records, outcome):
        sentences = search.sentences(numbers)
        size = tf.size(numbers)
        enough = tf.cast(_WORTH_LEAVING * tf.cast(size, tf.float32), tf.int32)

        def go_on(step, state, records):
            left = _number_left(search, state)
            return (
                (step < max_length)
                & (left > 0)
                & (_rounded_up(left, multiple) > enough)
            )

        def advance(step, state, records):
            return step + 1, *search.step(step, state, records, sentences)

        variables = step, state, records
        step, state, records = tf.while_loop(
            go_on, advance, variables, shape_invariants=_growing(variables)
        )
        found = search.outcome(step, state, sentences)
        outcome = tf.nest.map_structure(
            lambda all_, some: tf.tensor_scatter_nd_update(
                all_, numbers[:, None], some
            ),
            outcome,
            found,
        )
        unfinished = search.unfinished(state)
        left = _number_left(search, state)
        left = tf.minimum(_rounded_up(left, multiple), size)
        # Those left, in their order, and some that are done.
        _, kept = tf.math.top_k(tf.cast(unfinished, tf.int32), left)
        state = search.take(state, kept)
        return step, tf.gather(numbers, kept), state, records, outcome

    variables = step, numbers, state, records, outcome
    step, _, _, records, outcome = tf.while_loop(
        anything_left, shrink, variables, shape_invariants=_growing(variables)
    )
    return step, outcome, records


def _rooms(state, options):
    """Steps that histories have room for in one loop after another.

    There are two of them: XLA of TensorFlow 2.21 refuses a third loop over the
    same constants (tensorflow#122886).
    """
    longest = options.max_length
    if not has_history(state) or longest == 1:
        return [longest]
    return [math.ceil(_SHORT * longest), longest]


def _run_static(search, state, records, options):
    size = ops.shape(search.unfinished(state))[0]
    sentences = search.sentences(ops.arange(size, dtype="int32"))
    variables = ops.convert_to_tensor(0), state, records
    for room in _rooms(state, options):

        def go_on(step, state, records, room=room):
            return ops.logical_and(
                step < room, ops.any(search.unfinished(state))
            )

        def advance(step, state, records):
            return step + 1, *search.step(step, state, records, sentences)

        step, state, records = variables
        state = with_room(state, room)
        variables = ops.while_loop(go_on, advance, (step, state, records))
    step, state, records = variables
    return step, search.outcome(step, state, sentences), records


def _number_left(search, state):
    return tf.reduce_sum(tf.cast(search.unfinished(state), tf.int32))


def _rounded_up(number, multiple):
    """The next multiple, but not zero: a step has at least one sentence."""
    return tf.maximum((number - 1) // multiple + 1, 1) * multiple


def _growing(variables):
    """The shapes of a loop's variables, which may change their first axis.

    A `History` grows along its third axis, too.
    """
    return tree.traverse(_invariant, variables)


def _invariant(x):
    if is_history(x):
        grown = tf.nest.map_structure(_any_rows, x)
        return grown._replace(
            rows=tf.nest.map_structure(_any_third, grown.rows),
            own=_any_third(grown.own),
        )
    return None if tree.is_nested(x) else _any_rows(x)


def _any_third(shape):
    return tf.TensorShape([*shape[:2], None, *shape[3:]])


def _any_rows(x):
    if isinstance(x, tf.TensorArray):
        return tf.TensorShape([])
    shape = tf.convert_to_tensor(x).shape
    return tf.TensorShape([None, *shape[1:]]) if shape.rank else shape
