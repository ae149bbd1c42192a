"""`scan` for JAX: `jax.lax.scan`, which differentiates itself."""

import jax


def scan(step, inputs, state, memory, training=False):
    """Runs `step` over the leading axis; see `tensorflow_loop.scan`."""

    def body(carry, inputs_t):
        outputs, carry = step(inputs_t, carry, memory)
        return carry, outputs

    state, outputs = jax.lax.scan(body, state, inputs)
    return outputs, state
