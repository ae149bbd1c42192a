"""One update of the weights, on every replica at once.

Shapes: B batch, T target steps, L replicas of this process, G seed generators.
"""

import tensorflow as tf

from tfcopy.training.targets import Targets


class TrainStep:
    """Loss, gradients, reduction, clipping and update, as graphs.

    In the order in which it is easy to get wrong:

    1. Each replica computes the loss of its own batch, summed over the targets
       and multiplied by a `scale` that is the same everywhere (one over the
       targets, or sentences, of the whole update), and its gradients. With
       `jit_compile` this part alone is compiled by XLA.
    2. Gradients of several batches are added up where they are computed.
    3. They are summed over the replicas; only now is the global norm that of
       the update, and clipped.
    4. The optimizer applies them. Keras would sum them over the replicas here,
       after its own clipping of each; its reduction is switched off.

    On a CPU the graphs are traced once for all lengths of sentences; with
    `jit_compile` on one device once for each shape, which is what XLA wants.

    Args:
        model: Keras model of a dict of inputs, built under `strategy`.
        loss: Callable `(batch, distribution)` that returns the negative log
            likelihood of each target, of shape `(B, T)`; `(B, 1)` where an
            example has one.
        optimizer: Keras optimizer without clipping or accumulation of its own.
        element_spec: Dict of `tf.TensorSpec`, the spec of a batch.
        strategy: `tf.distribute.Strategy`.
        seed_states: State variables of the seed generators, set before use.
        clip_norm: Largest global norm of the gradients, or `None`.
        accumulate: Number of batches per replica in one update.
        jit_compile: Whether to compile loss and gradients.
        metrics: Optional callable `(batch, distribution)` that returns a dict
            of scalars, means over the targets.
        penalty: Optional callable `(batch, distribution)` that returns what
            the objective adds to the loss of each target, `(B, T)`.
        by_example: Whether each sentence counts the same, whatever its
            length: its tokens' costs are divided by their number.
        targets: Name of the tensor that tells what counts; see `Targets`.
    """

    def __init__(
        self,
        model,
        loss,
        optimizer,
        element_spec,
        strategy,
        seed_states=(),
        clip_norm=None,
        accumulate=1,
        jit_compile=False,
        metrics=None,
        penalty=None,
        by_example=False,
        targets="target_ids",
    ):
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.strategy = strategy
        self.clip_norm = clip_norm
        self.metrics = metrics
        self.metric_names = ()
        self.penalty = penalty
        self.by_example = by_example
        self.targets = Targets(targets, element_spec)
        self._seed_states = list(seed_states)
        self._variables = model.trainable_variables
        self._used = range(len(self._variables))
        self.num_local = local_replicas(strategy)
        self._batches_per_update = accumulate * strategy.num_replicas_in_sync
        if strategy.num_replicas_in_sync > 1:
            optimizer._all_reduce_sum_gradients = list
        self._accumulators = []
        if accumulate > 1:
            with strategy.scope():
                self._accumulators = [
                    tf.Variable(tf.zeros(v.shape, v.dtype), trainable=False)
                    for v in self._variables
                ]
        if jit_compile:
            self._gradients = tf.function(self._gradients, jit_compile=True)
            self._score = tf.function(self._score, jit_compile=True)
        static = jit_compile and self.num_local == 1
        specs = None if static else self._signature(element_spec)
        self.accumulate = tf.function(
            self._accumulate, input_signature=specs and specs[:3]
        )
        self.update = tf.function(self._update, input_signature=specs)
        self.evaluate = tf.function(
            self._evaluate, input_signature=specs and specs[:1]
        )
        self.predict = tf.function(
            self._predict, input_signature=specs and [specs[0][0]]
        )

    def _signature(self, element_spec):
        batch = tf.nest.map_structure(relax_shape, element_spec)
        return [
            (batch,) * self.num_local,
            tf.TensorSpec((), tf.float32),
            tf.TensorSpec((self.num_local, len(self._seed_states)), tf.int64),
            tf.TensorSpec((), tf.float32),
        ]

    def _accumulate(self, batches, scale, seeds):
        """Adds the gradients of one batch per replica to those kept.

        Args:
            batches: Tuple of L batches.
            scale: Scalar, what the sum over targets is multiplied by.
            seeds: Starts of the seed generators, of shape `(L, G)`.

        Returns:
            Sum of the negative log likelihood over all replicas.
        """
        nll = self.strategy.run(
            self._replica_accumulate, args=(batches, scale, seeds)
        )
        return self._first(nll)

    def _update(self, batches, scale, seeds, stop):
        """Updates the weights.

        Args:
            batches, scale, seeds: As in `accumulate`.
            stop: Scalar, above zero if this process was asked to stop.

        Returns:
            `(nll, norm, stop)`: sum of the negative log likelihood of these
            batches, global norm of the gradients before clipping, and the sum
            of `stop` over the replicas.
        """
        results = self.strategy.run(
            self._replica_update, args=(batches, scale, seeds, stop)
        )
        return tuple(map(self._first, results))

    def _evaluate(self, batches):
        """Scores one batch per replica of this process, without dropout.

        Returns:
            float32 tensor of shape `(L, 4 + number of metrics)`: sums of the
            negative log likelihood and of the penalty, targets,
            sentences, and each metric times the number of targets.
        """
        totals = self.strategy.run(self._replica_evaluate, args=(batches,))
        return tf.stack(self.strategy.experimental_local_results(totals))

    def _replica_accumulate(self, batches, scale, seeds):
        nll, gradients = self._replica_gradients(batches, scale, seeds)
        for index, gradient in zip(self._used, gradients):
            self._accumulators[index].assign_add(gradient)
        return self._sum_over_replicas([nll])[0]

    def _replica_update(self, batches, scale, seeds, stop):
        nll, gradients = self._replica_gradients(batches, scale, seeds)
        if self._accumulators:
            kept = [self._accumulators[index] for index in self._used]
            gradients = [sum_ + g for sum_, g in zip(kept, gradients)]
            for sum_ in kept:
                sum_.assign(tf.zeros_like(sum_))
        nll, stop, *gradients = self._sum_over_replicas([nll, stop, *gradients])
        norm = tf.linalg.global_norm(gradients)
        if self.clip_norm is not None:
            gradients = clip(gradients, norm, self.clip_norm)
        self.optimizer.apply(
            gradients, [self._variables[index] for index in self._used]
        )
        return nll, norm, stop

    def _replica_gradients(self, batches, scale, seeds):
        for state, seed in zip(
            self._seed_states, tf.unstack(self._mine(seeds))
        ):
            state.assign(tf.stack([tf.cast(seed, state.dtype), 0]))
        nll, gradients = self._gradients(self._mine(batches), scale)
        self._used = [i for i, g in enumerate(gradients) if g is not None]
        return nll, [gradients[index] for index in self._used]

    def _gradients(self, batch, scale):
        with tf.GradientTape() as tape:
            nll, penalty, _ = self._token_costs(batch, training=True)
            objective = nll if penalty is None else nll + penalty
            if self.by_example:
                counted = tf.cast(self.targets.mask(batch), tf.float32)
                lengths = tf.reduce_sum(counted, 1, keepdims=True)
                objective /= tf.maximum(lengths, 1.0)
            nll, objective = tf.reduce_sum(nll), tf.reduce_sum(objective)
            objective *= scale
            if self.model.losses:
                regularization = tf.add_n(self.model.losses)
                objective += regularization / self._batches_per_update
        gradients = tape.gradient(objective, self._variables)
        return nll, [densify(gradient) for gradient in gradients]

    def _replica_evaluate(self, batches):
        return self._score(self._mine(batches))

    def _score(self, batch):
        nll, penalty, distribution = self._token_costs(batch, training=False)
        counted = tf.cast(self.targets.mask(batch), tf.float32)
        num_targets = tf.reduce_sum(counted)
        num_sentences = tf.cast(tf.shape(nll)[0], tf.float32)
        metrics = self.metrics(batch, distribution) if self.metrics else {}
        self.metric_names = tuple(metrics)
        sums = [tf.cast(v, tf.float32) * num_targets for v in metrics.values()]
        penalty = 0.0 if penalty is None else tf.reduce_sum(penalty)
        nll = tf.reduce_sum(nll)
        return tf.stack([nll, penalty, num_targets, num_sentences, *sums])

    def _token_costs(self, batch, training):
        """Loss and penalty (or `None`) of each target, zero on padding."""
        distribution = self._call(batch, training)
        target_mask = self.targets.mask(batch)
        costs = []
        for function in (self.loss, self.penalty):
            cost = function and function(batch, distribution)  # (B, T)
            if cost is not None:
                self.targets.check_costs(cost)
                cost = tf.where(target_mask, cost, tf.zeros_like(cost))
            costs.append(cost)
        return (*costs, distribution)

    def _predict(self, batch):
        """What the model gives for one batch, without dropout."""
        return self._call(batch, training=False)

    def _call(self, batch, training):
        inputs = {name: batch[name] for name in self.model.input}
        return self.model(inputs, training=training)

    def _sum_over_replicas(self, values):
        if self.strategy.num_replicas_in_sync == 1:
            return values
        context = tf.distribute.get_replica_context()
        # What no replica computed, such as an argument, has no device yet.
        values = [tf.identity(value) for value in values]
        return context.all_reduce(tf.distribute.ReduceOp.SUM, values)

    def _mine(self, values):
        context = tf.distribute.get_replica_context()
        replica = tf.get_static_value(context.replica_id_in_sync_group)
        return values[replica % self.num_local]

    def _first(self, value):
        return self.strategy.experimental_local_results(value)[0]


def local_replicas(strategy):
    """Returns the number of replicas of this process."""
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(context.replica_id_in_sync_group)
    )
    return len(strategy.experimental_local_results(values))


def relax_shape(spec):
    """Forgets all sizes of a `tf.TensorSpec`."""
    return tf.TensorSpec([None] * spec.shape.rank, spec.dtype)


def densify(gradient):
    """Adds up the rows of an embedding's sparse gradient."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return tf.math.unsorted_segment_sum(
        gradient.values, gradient.indices, gradient.dense_shape[0]
    )


def clip(gradients, norm, clip_norm):
    """Scales the gradients down to `clip_norm`; costs nothing below it."""

    def scaled():
        factor = clip_norm / norm
        return [g * tf.cast(factor, g.dtype) for g in gradients]

    # A comparison with NaN is false, so NaN reaches the caller as it is.
    return tf.cond(norm > clip_norm, scaled, lambda: list(gradients))
