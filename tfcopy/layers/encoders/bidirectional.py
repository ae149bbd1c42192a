"""An encoder that runs both directions in one loop, whatever its cell.

Shapes: B batch, S source steps, E input size, U units a direction, G blocks
of a kernel.
"""

import keras
from keras import ops

from tfcopy.layers.initializers import Blockwise
from tfcopy.layers.loop import Product, scan
from tfcopy.layers.padding_mask import or_all


class Bidirectional(keras.layers.Layer):
    """Reads a sentence forwards and backwards; the base of such encoders.

    Both directions take each step together, as one product of two stacked
    matrices. Padding must be on the right; there the state is kept, so that the
    backward direction starts at the last real word with zeros.

    A subclass defines the number of blocks of its kernels (`blocks`), the
    number of tensors of its state (`num_states`), the hidden state last, and
    their update in a step (`update`).

    Args:
        units: Positive integer, the size of one direction's hidden state.
        kernel_initializer: Initializer of each block of the input kernels.
        recurrent_initializer: Initializer of each gate's recurrent kernel.

    Call arguments:
        inputs: Embedded words, `(B, S, E)`.
        mask: Boolean, `(B, S)`; nothing is padding if it is `None`.

    Returns:
        `(annotations, final)`: `(B, S, 2 * units)`, float32, and the last
        states, `(B, num_states * 2 * units)`: each tensor of the state has both
        directions side by side.
    """

    blocks = None
    num_states = 1
    bias_initializer = "zeros"

    def __init__(
        self,
        units,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        self.units = units
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(
            recurrent_initializer
        )

    def products(self, kernels):
        """The products of a step, a dict for `scan`'s memory.

        Args:
            kernels: Recurrent kernels, `(2, units, G * units)`.
        """
        return {"recurrent": Product(kernels)}

    def update(self, projected, state, memory):
        """One step of both directions.

        Args:
            projected: Input products and bias, `(2, B, G * units)`.
            state: List of tensors `(2, B, units)`.
            memory: From `products`.

        Returns:
            The new state.
        """
        raise NotImplementedError

    def build(self, inputs_shape, mask_shape=None):
        blocks, width = self.blocks, self.blocks * self.units
        for direction in ("forward", "backward"):
            weights = {
                "kernel": (
                    (inputs_shape[-1], width),
                    Blockwise(self.kernel_initializer, blocks),
                ),
                "recurrent_kernel": (
                    (self.units, width),
                    Blockwise(self.recurrent_initializer, blocks),
                ),
                "bias": ((width,), self.bias_initializer),
            }
            for name, (shape, initializer) in weights.items():
                name = f"{direction}_{name}"
                weight = self.add_weight(
                    name=name, shape=shape, initializer=initializer
                )
                setattr(self, name, weight)

    def call(self, inputs, mask=None, training=False):
        mask = or_all(mask, inputs)
        inputs = ops.cast(inputs, self.compute_dtype)
        both = ops.stack(
            [
                self._project(inputs, "forward"),
                ops.flip(self._project(inputs, "backward"), axis=0),
            ],
            axis=1,
        )  # (S, 2, B, GU)
        keep = ops.cast(ops.transpose(mask), "float32")
        keep = ops.stack([keep, ops.flip(keep, axis=0)], axis=1)
        keep = ops.expand_dims(keep, -1)  # (S, 2, B, 1)
        kernels = [
            ops.cast(kernel, self.compute_dtype)
            for kernel in (
                self.forward_recurrent_kernel,
                self.backward_recurrent_kernel,
            )
        ]
        memory = self.products(ops.stack(kernels))
        # Keeps the batch size of `inputs` even if it is unknown.
        zeros = ops.zeros_like(both[0, :, :, : self.units])
        state = [zeros] * self.num_states
        states, final = scan(self._step, (both, keep), state, memory, training)
        # `unstack`, since the gradient of a slice writes the whole tensor.
        forward, backward = ops.unstack(states, 2, axis=1)
        backward = ops.flip(backward, axis=0)
        annotations = ops.concatenate([forward, backward], axis=-1)
        final = [x[direction] for x in final for direction in (0, 1)]
        return (
            ops.transpose(annotations, (1, 0, 2)),
            ops.concatenate(final, axis=-1),
        )

    def _project(self, inputs, direction):
        """The input products of all steps, `(S, B, GU)`, float32."""
        kernel = getattr(self, f"{direction}_kernel")
        bias = getattr(self, f"{direction}_bias")
        projected = ops.matmul(
            ops.transpose(inputs, (1, 0, 2)),
            ops.cast(kernel, self.compute_dtype),
        )
        return ops.cast(projected, "float32") + ops.cast(bias, "float32")

    def _step(self, inputs, state, memory):
        projected, keep = inputs
        new = self.update(projected, state, memory)
        state = [x + keep * (y - x) for x, y in zip(state, new)]
        return state[-1], state

    def compute_output_spec(self, inputs, mask, training=False):
        batch, length = inputs.shape[:2]
        size = 2 * self.units
        return (
            keras.KerasTensor((batch, length, size), "float32"),
            keras.KerasTensor((batch, self.num_states * size), "float32"),
        )

    def compute_mask(self, inputs, previous_mask):
        """The outputs carry no Keras mask: it is passed as an argument."""
        return None

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": keras.initializers.serialize(
                self.kernel_initializer
            ),
            "recurrent_initializer": keras.initializers.serialize(
                self.recurrent_initializer
            ),
        }
