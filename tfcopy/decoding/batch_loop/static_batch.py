"""The loop for all backends: until the last sentence is done."""

from keras import ops


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
    size = ops.shape(search.unfinished(state))[0]
    sentences = search.sentences(ops.arange(size, dtype="int32"))

    def go_on(step, state, records):
        return ops.any(search.unfinished(state))

    def advance(step, state, records):
        return step + 1, *search.step(step, state, records, sentences)

    step, state, records = ops.while_loop(
        go_on,
        advance,
        (ops.convert_to_tensor(0), state, records),
        maximum_iterations=options.max_length,
    )
    return step, search.outcome(step, state, sentences), records
