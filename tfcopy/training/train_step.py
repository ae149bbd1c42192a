"""The graphs of a training step, on all replicas at once; targets, objective.

Shapes: L replicas of this process, G seed generators, B batch, T target steps.
"""

import contextlib
import functools
import logging
import time

import numpy as np
import tensorflow as tf

from tfcopy import keras_internals, tokens
from tfcopy.training.training_results import Totals


class Targets:
    """Description of the tensor of a batch that contains the targets.

    A tensor `(B, T)` contains the ids of tokens. Each token has a cost, and
    counts, except padding. A tensor `(B,)` contains for instance classes or
    positions. Each example then has one cost, `(B, 1)`, and counts once.
    Losses, metrics and speeds are per token or per example.

    ```python
    targets = training.Targets("target_ids", batches.element_spec)
    targets.mask(batch)  # (1, 3)
    ```

    Args:
        name: Name of the tensor.
        element_spec: Dict of `tf.TensorSpec`, the spec of a batch.
    """

    def __init__(self, name, element_spec):
        spec = element_spec.get(name)
        if spec is None or spec.shape.rank not in (1, 2):
            raise ValueError(
                "`targets` must name a tensor of the batches, of shape (B, T) "
                f"or (B,). Received: targets={name!r} for batches of "
                f"{element_spec}."
            )
        self.name = name
        self.per_example = spec.shape.rank == 1

    @property
    def unit(self):
        """Unit over which losses are averaged, as in the names of scores."""
        return "examples" if self.per_example else "target_tokens"

    def mask(self, batch):
        """Returns the mask of targets that count, `(B, T)` or `(B, 1)`."""
        targets = batch[self.name]
        if self.per_example:
            return tf.ones_like(targets, tf.bool)[:, tf.newaxis]
        return targets != tokens.PAD

    def count(self, batch):
        """Returns `(targets, examples)` of a batch, on the host."""
        targets = np.asarray(batch[self.name])
        if self.per_example:
            return len(targets), len(targets)
        return int(np.count_nonzero(targets != tokens.PAD)), len(targets)

    def check_costs(self, costs):
        """Raises `ValueError` if costs of examples are not `(B, 1)`."""
        if self.per_example and not costs.shape.is_compatible_with([None, 1]):
            raise ValueError(
                "Costs must have the shape (B, 1), one for each example of "
                f"`targets`. Received: shape={costs.shape} for "
                f"targets={self.name!r}."
            )


class Objective:
    """Objective: costs and metrics of a model on one batch and replica.

    Args:
        model: Keras model of a dict of inputs.
        loss: Callable `(batch, distribution)` that returns the negative log
            likelihood of each target, of shape `(B, T)`; `(B, 1)` if each
            example has one target. It may return a pair of this and a penalty.
        targets: `Targets` of the batches.
        penalty: Optional callable `(batch, distribution)` that returns a
            penalty for each target, `(B, T)`, which is added to the loss.
        metrics: Optional callable `(batch, distribution)` that returns a dict
            of scalars, means over the targets.
        by_example: Whether all sentences have the same weight: costs of tokens
            are divided by the number of tokens in their sentence.
    """

    def __init__(
        self, model, loss, targets, penalty=None, metrics=None, by_example=False
    ):
        self.model = model
        self.targets = targets
        self._loss = loss
        self._penalty = penalty
        self.metrics = metrics
        self._by_example = by_example

    def sums(self, batch):
        """Returns the sums over a batch of the loss and of the objective.

        The model is called as in training. The losses of its layers are not
        included.
        """
        nll, penalty = self._costs(batch, self._call(batch, training=True))
        objective = nll if penalty is None else nll + penalty
        if self._by_example:
            counted = tf.cast(self.targets.mask(batch), tf.float32)
            lengths = tf.reduce_sum(counted, 1, keepdims=True)
            objective /= tf.maximum(lengths, 1.0)
        return tf.reduce_sum(nll), tf.reduce_sum(objective)

    def totals(self, batch):
        """Returns the `Totals` of a batch, float32, without dropout."""
        distribution = self.predict(batch)
        nll, penalty = self._costs(batch, distribution)
        counted = tf.cast(self.targets.mask(batch), tf.float32)
        num_targets = tf.reduce_sum(counted)
        metrics = self.metrics(batch, distribution) if self.metrics else {}
        return Totals(
            nll=tf.reduce_sum(nll),
            penalty=tf.reduce_sum(0.0 if penalty is None else penalty),
            targets=num_targets,
            examples=tf.cast(tf.shape(nll)[0], tf.float32),
            metrics={
                name: tf.cast(mean, tf.float32) * num_targets
                for name, mean in metrics.items()
            },
        )

    def predict(self, batch):
        """Returns the model's output for a batch, without dropout."""
        return self._call(batch, training=False)

    def _call(self, batch, training):
        inputs = {name: tokens.Batch(batch)[name] for name in self.model.input}
        return self.model(inputs, training=training)

    def _costs(self, batch, distribution):
        """Computes loss and penalty (or `None`) per target, 0 at padding."""
        mask = self.targets.mask(batch)
        costs = self._loss(tokens.Batch(batch), distribution)
        nll, *added = costs if isinstance(costs, tuple) else (costs,)
        if self._penalty:
            added.append(self._penalty(tokens.Batch(batch), distribution))
        for cost in (nll, *added):  # (B, T)
            self.targets.check_costs(cost)
        nll, *added = (
            tf.where(mask, x, tf.zeros_like(x)) for x in (nll, *added)
        )
        return nll, sum(added) if added else None


def is_worth_compiling(model):
    """Returns whether there is a GPU and XLA can compile all layers.

    ```python
    training.is_worth_compiling(model)  # False on a CPU
    ```
    """
    return bool(tf.config.list_physical_devices("GPU")) and all(
        layer.supports_jit for layer in keras_internals.all_layers(model)
    )


def announce(function, purpose, report):
    """Returns a function that reports when XLA compiles it for new shapes.

    Args:
        function: A `tf.function` whose first argument is a tuple of batches,
            dicts of tensors.
        purpose: A verb for the report, such as "score".
        report: Callable that prints a line.
    """
    seen = set()

    def call(batches, *more):
        shapes = _shapes_of(batches)
        if shapes in seen:
            return function(batches, *more)
        seen.add(shapes)
        what = f"program {len(seen)} to {purpose} batches of {shapes}"
        report(f"XLA compiles {what} ...")
        start = time.monotonic()
        with _suppress_warnings():
            result = function(batches, *more)
        report(f"... which took {time.monotonic() - start:.0f} s")
        return result

    return call


def _shapes_of(batches):
    """Formats the shape of each text of a batch, such as "source 32 x 16"."""
    shapes = {
        name.removesuffix("_ids"): " x ".join(map(str, x.shape))
        for name, x in sorted(batches[0].items())
        if name.endswith("_ids") and not name.endswith("_copy_ids")
    }
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())


@contextlib.contextmanager
def _suppress_warnings():
    """Suppresses TensorFlow's warning that a function is traced often."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


class TrainStep:
    """Training step as graphs: loss, gradients, reduction, clipping, update.

    The order matters:

    1. Each replica computes the loss of its own batch, summed over the targets
       and multiplied by a `scale` that is the same everywhere (one over the
       targets, or sentences, of the whole update), and its gradients. With
       `jit_compile` only this part is compiled by XLA.
    2. Gradients of several batches are added up on their replica.
    3. They are summed over the replicas. Then their global norm, which is now
       the norm of the whole update, is clipped.
    4. The optimizer applies them. Keras's own reduction is switched off: it
       would sum the gradients here, after clipping on each replica.

    On a CPU the graphs are traced once for all lengths of sentences. With
    `jit_compile` on one device they are traced once for each shape, as XLA
    needs.

    ```python
    step = trainer.step_for(batches.element_spec)
    distribution = step.predict(batch)
    ```

    Args:
        objective: `Objective`, whose model was built under the strategy.
        optimizer: Keras optimizer that does not clip or accumulate itself.
        element_spec: Dict of `tf.TensorSpec`, the spec of a batch.
        replicas: `Replicas`.
        options: `Options` of gradients and of compilation.
        seed_states: State variables of the seed generators, set before use.
        report: Callable that prints a line when XLA compiles for a new shape.
    """

    def __init__(
        self,
        objective,
        optimizer,
        element_spec,
        replicas,
        options,
        seed_states=(),
        report=lambda text: None,
    ):
        self.targets = objective.targets
        self.has_metrics = objective.metrics is not None
        self.num_seeds = len(seed_states)
        self._model = objective.model
        self._objective = objective
        self._optimizer = optimizer
        self._replicas = replicas
        self._clip_norm = options.clip_norm
        self._seed_states = list(seed_states)
        self._variables = self._model.trainable_variables
        self._batches_per_update = options.accumulate * replicas.count
        if replicas.count > 1:
            keras_internals.switch_off_reduction(optimizer)
        self._accumulators = []
        if options.accumulate > 1:
            with replicas.strategy.scope():
                self._accumulators = [
                    tf.Variable(tf.zeros(v.shape, v.dtype), trainable=False)
                    for v in self._variables
                ]
        jit_compile = options.jit_compile
        if jit_compile is None:
            jit_compile = is_worth_compiling(self._model)
        self._gradients_of, self._totals_of = self._gradients, objective.totals
        if jit_compile:
            self._gradients_of, self._totals_of = (
                tf.function(function, jit_compile=True, autograph=False)
                for function in (self._gradients, objective.totals)
            )
        static = jit_compile and replicas.num_local == 1
        specs = None if static else self._signature(element_spec)

        def graph(function, specs, purpose="train on"):
            compiled = tf.function(
                function, input_signature=specs, autograph=False
            )
            return (
                announce(compiled, purpose, report) if jit_compile else compiled
            )

        self.accumulate = graph(self._accumulate, specs and specs[:3])
        self.update = graph(self._update, specs)

        def spec_of(names):
            """Returns the spec of the batches, restricted to some tensors.

            For instance, only training has an alignment.
            """
            spec = {name: element_spec[name] for name in names}
            return specs and self._signature(spec)[:1]

        # Graphs by the names of the tensors in a batch.
        self.evaluate_with = functools.cache(
            lambda names: graph(self._evaluate, spec_of(names), "score")
        )
        self._predict_with = functools.cache(
            lambda names: tf.function(
                objective.predict,
                input_signature=specs and [spec_of(names)[0][0]],
                autograph=False,
            )
        )

    def score(self, group):
        """Scores at most one batch per replica.

        Args:
            group: List of batches, the same on all workers.

        Returns:
            The `Totals` of this worker's share, as float64 on the host.
        """
        batches = self._replicas.share(group)
        # Replicas without a batch repeat another one, which does not count.
        filled = (batches + group[:1] * self._replicas.num_local)[
            : self._replicas.num_local
        ]
        return tf.nest.map_structure(
            lambda x: x.numpy()[: len(batches)].astype(np.float64).sum(),
            self.evaluate_with(tuple(filled[0]))(tuple(filled)),
        )

    def predict(self, batch):
        """Returns the model's outputs for a batch, on one device."""
        return self._predict_with(tuple(batch))(batch)

    def _signature(self, element_spec):
        batch = tf.nest.map_structure(relax_shape, element_spec)
        return [
            (batch,) * self._replicas.num_local,
            tf.TensorSpec((), tf.float32),
            tf.TensorSpec((self._replicas.num_local, self.num_seeds), tf.int64),
            tf.TensorSpec((), tf.float32),
        ]

    def _accumulate(self, batches, scale, seeds):
        """Adds the gradients of one batch per replica to the accumulators.

        Args:
            batches: Tuple of L batches.
            scale: Scalar factor of the sum over targets.
            seeds: Starts of the seed generators, of shape `(L, G)`.

        Returns:
            Sum of the negative log likelihood over all replicas.
        """
        nll = self._replicas.strategy.run(
            self._replica_accumulate, args=(batches, scale, seeds)
        )
        return self._first(nll)

    def _update(self, batches, scale, seeds, stop):
        """Updates the weights.

        Args:
            batches: As in `_accumulate`.
            scale: As in `_accumulate`.
            seeds: As in `_accumulate`.
            stop: Scalar, above zero if this process was asked to stop.

        Returns:
            `(nll, norm, stop)`: sum of the negative log likelihood of these
            batches, global norm of the gradients before clipping, and the sum
            of `stop` over the replicas.
        """
        results = self._replicas.strategy.run(
            self._replica_update, args=(batches, scale, seeds, stop)
        )
        return tuple(map(self._first, results))

    def _evaluate(self, batches):
        """Scores one batch per replica of this process, without dropout.

        Returns:
            `Totals` of tensors of shape `(L,)`.
        """
        strategy = self._replicas.strategy
        totals = strategy.run(
            lambda batches: self._totals_of(self._mine(batches)),
            args=(batches,),
        )
        return tf.nest.map_structure(
            lambda x: tf.stack(strategy.experimental_local_results(x)), totals
        )

    def _replica_accumulate(self, batches, scale, seeds):
        nll, gradients = self._replica_gradients(batches, scale, seeds)
        for index, gradient in gradients.items():
            self._accumulators[index].assign_add(gradient)
        return self._sum_over_replicas([nll])[0]

    def _replica_update(self, batches, scale, seeds, stop):
        nll, gradients = self._replica_gradients(batches, scale, seeds)
        used = list(gradients)
        gradients = list(gradients.values())
        if self._accumulators:
            kept = [self._accumulators[index] for index in used]
            gradients = [sum_ + g for sum_, g in zip(kept, gradients)]
            for sum_ in kept:
                sum_.assign(tf.zeros_like(sum_))
        nll, stop, *gradients = self._sum_over_replicas([nll, stop, *gradients])
        norm = tf.linalg.global_norm(gradients)
        if self._clip_norm is not None:
            gradients = clip(gradients, norm, self._clip_norm)
        self._optimizer.apply(
            gradients, [self._variables[index] for index in used]
        )
        return nll, norm, stop

    def _replica_gradients(self, batches, scale, seeds):
        """Returns the loss, and a dict of gradients by the variable's index.

        Variables that do not affect the objective have no gradient.
        """
        for state, seed in zip(
            self._seed_states, tf.unstack(self._mine(seeds))
        ):
            state.assign(tf.stack([tf.cast(seed, state.dtype), 0]))
        nll, gradients = self._gradients_of(self._mine(batches), scale)
        return nll, {i: g for i, g in enumerate(gradients) if g is not None}

    def _gradients(self, batch, scale):
        with tf.GradientTape() as tape:
            nll, objective = self._objective.sums(batch)
            objective *= scale
            if self._model.losses:
                regularization = tf.add_n(self._model.losses)
                objective += regularization / self._batches_per_update
        gradients = tape.gradient(objective, self._variables)
        return nll, [densify(gradient) for gradient in gradients]

    def _sum_over_replicas(self, values):
        if self._replicas.count == 1:
            return values
        context = tf.distribute.get_replica_context()
        # Tensors that no replica computed, such as arguments, have no device.
        values = [tf.identity(value) for value in values]
        return context.all_reduce(tf.distribute.ReduceOp.SUM, values)

    def _mine(self, values):
        context = tf.distribute.get_replica_context()
        replica = tf.get_static_value(context.replica_id_in_sync_group)
        return values[replica % self._replicas.num_local]

    def _first(self, value):
        return self._replicas.strategy.experimental_local_results(value)[0]


def relax_shape(spec):
    """Returns a `tf.TensorSpec` with unknown sizes."""
    return tf.TensorSpec([None] * spec.shape.rank, spec.dtype)


def densify(gradient):
    """Converts an embedding's sparse gradient to a dense one."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return tf.math.unsorted_segment_sum(
        gradient.values, gradient.indices, gradient.dense_shape[0]
    )


def clip(gradients, norm, clip_norm):
    """Scales gradients down to `clip_norm`; no cost if they are smaller."""

    def scale():
        factor = clip_norm / norm
        return [g * tf.cast(factor, g.dtype) for g in gradients]

    # A comparison with NaN is false, so that NaN reaches the caller.
    return tf.cond(norm > clip_norm, scale, lambda: list(gradients))
