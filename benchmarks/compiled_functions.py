"""Training steps and searches, compiled whole by XLA on TensorFlow or JAX.

Not a benchmark itself: `benchmarks.gpu` uses it. A step takes a batch to the
loss, and changes the model's and the optimizer's weights; all of them stay on
the device.
"""

import contextlib
import re

import keras
from keras import ops

from tfcopy.decoding import beam_search

_KERNEL = re.compile(
    r"\s(?:fusion|dot|custom-call|reduce|scatter|gather|sort|convolution|copy"
    r"|transpose|dynamic-update-slice)\("
)


def backend_is_jax():
    return keras.backend.backend() == "jax"


def devices(kind):
    """The names of the devices of a kind, `"gpu"` or `"cpu"`."""
    if backend_is_jax():
        import jax

        with contextlib.suppress(RuntimeError):
            return [str(device) for device in jax.devices(kind)]
        return []
    import tensorflow as tf

    return [x.name for x in tf.config.list_physical_devices(kind.upper())]


@contextlib.contextmanager
def on(kind):
    """Computes on the first device of a kind."""
    if backend_is_jax():
        import jax

        with jax.default_device(jax.devices(kind)[0]):
            yield
    else:
        import tensorflow as tf

        with tf.device(f"/{kind}:0"):
            yield


def set_tensor_float(allowed):
    """Whether float32 products may round their factors to TF32."""
    if backend_is_jax():
        import jax

        name = "tensorfloat32" if allowed else "highest"
        jax.config.update("jax_default_matmul_precision", name)
    else:
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(allowed)


def peak_bytes(kind):
    """The most memory of the device so far; `None` where it is not told."""
    if kind != "gpu":
        return None
    if backend_is_jax():
        import jax

        return jax.devices("gpu")[0].memory_stats()["peak_bytes_in_use"]
    import tensorflow as tf

    return tf.config.experimental.get_memory_info("GPU:0")["peak"]


class Training:
    """Updates of a model by Adam.

    Args:
        model: A model of a dict of inputs.
        loss: A loss of `tfcopy.losses`.
        batch: Dict of arrays, of the shapes of all batches.
    """

    def __init__(self, model, loss, batch):
        self.model, self.loss, self.batch = model, loss, batch
        self.inputs = [name for name in batch if name in model.input]
        self.optimizer = keras.optimizers.Adam(1e-3, clipnorm=1.0)
        self.optimizer.build(model.trainable_variables)
        self._step = self._on_jax() if backend_is_jax() else self._on_tf()

    def __call__(self):
        """One update; returns the loss, a number, when it is done."""
        return float(self._step())

    def program(self):
        """The compiled program, as text."""
        return self._program()

    def _cost(self, batch):
        outputs = self.model(
            {name: batch[name] for name in self.inputs}, training=True
        )
        return ops.mean(self.loss(batch, outputs))

    def _on_tf(self):
        import tensorflow as tf

        variables = self.model.trainable_variables
        batch = {k: tf.constant(x) for k, x in self.batch.items()}

        @tf.function(jit_compile=True, autograph=False)
        def step(batch):
            with tf.GradientTape() as tape:
                cost = self._cost(batch)
            self.optimizer.apply(tape.gradient(cost, variables), variables)
            return cost

        self._program = lambda: step.experimental_get_compiler_ir(batch)(
            stage="optimized_hlo"
        )
        return lambda: step(batch)

    def _on_jax(self):
        import jax

        model, optimizer = self.model, self.optimizer
        fixed = model.non_trainable_variables
        batch = {k: jax.numpy.asarray(x) for k, x in self.batch.items()}

        def cost_of(trained, others, batch):
            mapping = [
                *zip(model.trainable_variables, trained),
                *zip(fixed, others),
            ]
            with keras.StatelessScope(state_mapping=mapping) as scope:
                cost = self._cost(batch)
            others = [scope.get_current_value(v) for v in fixed]
            return cost, [
                old if new is None else new
                for old, new in zip((v.value for v in fixed), others)
            ]

        def step(trained, others, slots, batch):
            (cost, others), gradients = jax.value_and_grad(
                cost_of, has_aux=True
            )(trained, others, batch)
            trained, slots = optimizer.stateless_apply(
                slots, gradients, trained
            )
            return cost, trained, others, slots

        state = [
            [v.value for v in model.trainable_variables],
            [v.value for v in fixed],
            [v.value for v in optimizer.variables],
        ]
        compiled = jax.jit(step, donate_argnums=(0, 1, 2))
        compiled = compiled.lower(*state, batch).compile()
        self._program = compiled.as_text

        def update():
            cost, *state[:] = compiled(*state, batch)
            return cost

        return update


class Search:
    """Beam search for the answers to a batch of sources.

    Args:
        model: A `Seq2Seq`.
        options: `SearchOptions`, of static shapes.
        batch: Dict of arrays with `source_ids` and `source_copy_ids`.
    """

    def __init__(self, model, options, batch):
        self.model, self.options = model, options
        ids = [batch["source_ids"], batch["source_copy_ids"]]
        self._search = (
            self._on_jax(ids) if backend_is_jax() else self._on_tf(ids)
        )

    def __call__(self):
        """The scores of the answers, as an array, when they are found."""
        return ops.convert_to_numpy(self._search())

    def _on_tf(self, ids):
        import tensorflow as tf

        ids = [tf.constant(x) for x in ids]

        @tf.function(jit_compile=True, autograph=False)
        def search(*ids):
            return beam_search(self.model, *ids, self.options).scores

        return lambda: search(*ids)

    def _on_jax(self, ids):
        import jax

        ids = [jax.numpy.asarray(x) for x in ids]
        values = [v.value for v in self.model.variables]

        def search(values, *ids):
            mapping = zip(self.model.variables, values)
            # A scope inside, of the weights of a step, does not see these.
            with keras.StatelessScope(state_mapping=mapping):
                return beam_search(self.model, *ids, self.options).scores

        compiled = jax.jit(search).lower(values, *ids).compile()
        return lambda: compiled(values, *ids)


def kernels(program):
    """How many kernels a program of XLA starts, those of loops once each."""
    return len(_KERNEL.findall(program))
