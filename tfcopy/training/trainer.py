"""Trains a model: updates, dev scores, checkpoints, progress, TensorBoard."""

import dataclasses
import math
import os

import numpy as np
import tensorflow as tf

from tfcopy.training import checkpoints as checkpointing
from tfcopy.training import distribution, seeds
from tfcopy.training.progress import Progress
from tfcopy.training.tensorboard import EventLog
from tfcopy.training.train_step import TrainStep, local_replicas
from tfcopy.training.training_loop import TrainingLoop
from tfcopy.training.training_state import Evaluation, Options, Result, State


class Trainer:
    """Trains a model until told to stop, or until it gets no better.

    Repeating the command resumes a run: `fit` continues from the newest
    checkpoint in `<log_dir>/checkpoints` and ends with the weights that it
    would have had undisturbed, bit for bit on a CPU. A run that had finished
    only loads its best weights.

    Args:
        model: Keras model of a dict of inputs that returns a
            `CopyDistribution`, built under the scope of the strategy.
        loss: Callable `(batch, distribution)` that returns the negative log
            likelihood of each target, of shape `(B, T)`; `(B, 1)` where an
            example has one, as `targets` among the options then says.
        optimizer: Keras optimizer, made under the same scope.
        train_data: Callable `(epoch, start_batch, context)` that returns a
            `tf.data.Dataset` of dicts of tensors: the batches of an epoch, one
            for one replica at a time, from number `start_batch` on. It must
            return the same batches each time, and does not shard.
        dev_data: Dataset of such batches, or a callable that returns one.
        log_dir: Folder for events and checkpoints; `None` for neither.
        metrics: Optional callable `(batch, distribution)` that returns a dict
            of scalars, means over the targets.
        score_predictions: Optional callable that is called at each dev score
            and returns a dict of numbers, for what is no mean over targets,
            such as the exact match of texts. It gets an iterator over
            `(batch, distribution)`, the predictions for all of `dev_data`, in
            its order; see `predict`.
        on_eval: Optional callable `(update, writer)`, called after each dev
            score on the first worker; `writer` is a `tf.summary` writer.
        penalty: Optional callable like `loss`: what the objective adds to the
            cost of each target. Dev scores are compared by the sum of both,
            unless by `score`; the perplexity is that of the loss alone.
        phases: `Phase`s, in the order of their starts.
        **options: The fields of `Options`.
    """

    def __init__(
        self,
        model,
        loss,
        optimizer,
        train_data,
        dev_data=None,
        log_dir=None,
        metrics=None,
        on_eval=None,
        penalty=None,
        phases=(),
        score_predictions=None,
        **options,
    ):
        self.options = Options(**options)
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.metrics = metrics
        self.score_predictions = score_predictions
        self.on_eval = on_eval
        self.penalty = penalty
        self.phases = tuple(phases)
        self.state = State()
        self.strategy = distribution.strategy_of(model)
        self._worker, self.num_workers = distribution.worker_position(
            self.strategy
        )
        self.train_data = train_data
        self.dev_data = dev_data
        self._log_dir = log_dir and os.fspath(log_dir)
        self.seed_states = seeds.seed_states(model)
        self._train_step = None
        self._prepare_optimizer()
        self._first_optimizer = [
            np.array(v) for v in self.optimizer.variables if self.phases
        ]
        self.progress = Progress(
            total=self.options.steps,
            interval=self.options.progress_seconds,
            enabled=self.options.verbose and self.is_chief,
        )
        self.checkpoints = log_dir and checkpointing.Checkpoints(
            os.path.join(self._log_dir, "checkpoints"),
            report=self.progress.report,
        )

    @property
    def is_chief(self):
        return self._worker == 0

    @property
    def targets(self):
        """`Targets` of the batches; there are none before the first one."""
        return self._train_step.targets

    def fit(self):
        """Trains, or goes on training.

        Returns:
            A `Result`. The model has the weights of the best dev score, or
            the last ones without dev data.

        Raises:
            TrainingInterrupted: After Ctrl-C or SIGTERM, all saved.
            TrainingDiverged: If loss or gradients are not finite.
            CheckpointError: If a checkpoint is there that cannot be used.
        """
        best_weights = self._resume()
        if self.state.evaluation_due or not self.is_finished():
            events = EventLog(
                self._log_dir if self.is_chief else None,
                first_step=self.state.update + 1,
                fresh=self.options.fresh,
                report=self.progress.report,
            )
            try:
                best_weights = TrainingLoop(self, events, best_weights).run()
            finally:
                events.close()
                self.progress.close()
        if self.num_workers > 1:
            # The first worker has written its files before any other goes on.
            _sum_over_workers(self.strategy, np.zeros(1))
        if best_weights is not None:
            self.model.set_weights(best_weights)
        return self._result()

    def evaluate(self, data, cancelled=lambda: False):
        """Scores the model on a dataset of batches.

        Args:
            data: Dataset of batches, or a callable that returns one.
            cancelled: Optional callable; once it is true, scoring ends.

        Returns:
            An `Evaluation`, or `None` if cancelled.
        """
        dataset = data() if callable(data) else data
        step = self.step_for(dataset.element_spec)
        totals = 0.0
        group, size = [], self.strategy.num_replicas_in_sync
        for batch in dataset.prefetch(tf.data.AUTOTUNE):
            if cancelled():
                return None
            group.append(batch)
            if len(group) == size:
                totals = totals + self._evaluate_group(step, group)
                group = []
        if group:
            totals = totals + self._evaluate_group(step, group)
        if self.num_workers > 1:
            totals = _sum_over_workers(self.strategy, totals)
        return _evaluation(totals, step.metric_names)

    def predict(self, data):
        """Runs the model, without dropout, over a dataset of batches.

        Each process runs it over all of them, on one device.

        Args:
            data: Dataset of batches, or a callable that returns one.

        Yields:
            `(batch, distribution)`, what the model takes and gives.
        """
        dataset = data() if callable(data) else data
        step = self.step_for(dataset.element_spec)
        for batch in dataset.prefetch(tf.data.AUTOTUNE):
            yield batch, step.predict(batch)

    def dev_scores(self, cancelled=lambda: False):
        """Scores `dev_data`, by their predictions as well.

        Returns:
            An `Evaluation`, or `None` if cancelled.
        """
        scores = self.evaluate(self.dev_data, cancelled)
        if scores is None or not self.score_predictions:
            return scores

        def predictions():
            for pair in self.predict(self.dev_data):
                if cancelled():
                    raise _Cancelled
                yield pair

        try:
            values = dict(self.score_predictions(predictions()))
        except _Cancelled:
            return None
        if self.num_workers > 1:
            # All have to choose the same weights: those of the first worker.
            array = np.array(list(values.values()), np.float64)
            array = _sum_over_workers(self.strategy, array * self.is_chief)
            values = dict(zip(values, array.tolist()))
        values = {name: float(value) for name, value in values.items()}
        metrics = scores.metrics | values
        return dataclasses.replace(scores, metrics=metrics)

    def score_group(self, group):
        """Scores at most one batch per replica, on this worker alone."""
        totals = self._evaluate_group(self._train_step, group)
        return _evaluation(totals, self._train_step.metric_names)

    def save(self):
        """Writes a checkpoint; returns its path."""
        state = dataclasses.asdict(self.state)
        info = {
            "state": {k: v for k, v in state.items() if v is not None},
            "identity": self._identity(),
        }
        arrays = checkpointing.collect(self.model, self.optimizer)
        return self.checkpoints.save(self.state.update, info, arrays)

    def _identity(self):
        # The best score so far cannot be compared with another one's.
        score = self.options.score
        return self.options.identity | ({"score": score} if score else {})

    def _evaluate_group(self, step, group):
        """Scores at most one batch per replica; this worker's share."""
        mine = self.share(group)
        # Replicas without a batch of their own repeat one, and do not count.
        filled = tuple((mine + group[:1] * step.num_local)[: step.num_local])
        totals = step.evaluate(filled).numpy().astype(np.float64)
        return totals[: len(mine)].sum(axis=0)

    def share(self, group):
        """Returns this worker's part of one batch per replica."""
        size = self.strategy.num_replicas_in_sync // self.num_workers
        return group[self._worker * size : (self._worker + 1) * size]

    def step_for(self, element_spec):
        if self._train_step is None:
            self._train_step = TrainStep(
                self.model,
                self.loss,
                self.optimizer,
                element_spec,
                self.strategy,
                seed_states=self.seed_states,
                clip_norm=self.options.clip_norm,
                accumulate=self.options.accumulate,
                jit_compile=self._jit_compile(),
                metrics=self.metrics,
                penalty=self.penalty,
                by_example=self.options.normalize == "examples",
                targets=self.options.targets,
            )
        return self._train_step

    def _jit_compile(self):
        if self.options.jit_compile is not None:
            return self.options.jit_compile
        layers = self.model._flatten_layers()
        return bool(tf.config.list_physical_devices("GPU")) and all(
            layer.supports_jit for layer in layers
        )

    def _prepare_optimizer(self):
        made_under = getattr(
            self.optimizer, "_distribution_strategy", self.strategy
        )
        if made_under is not self.strategy:
            raise ValueError(
                "`optimizer` must be made under the scope of the model's "
                f"strategy. Received: {made_under} and {self.strategy}."
            )
        if self.optimizer.gradient_accumulation_steps or any(
            getattr(self.optimizer, name, None) is not None
            for name in ("clipnorm", "global_clipnorm", "clipvalue")
        ):
            raise ValueError(
                "`optimizer` must not clip or accumulate gradients itself; "
                "pass `clip_norm` and `accumulate` to the trainer."
            )
        with self.strategy.scope():
            self.optimizer.build(self.model.trainable_variables)

    def _resume(self):
        """Goes back to the newest checkpoint; returns the best weights."""
        if not self.checkpoints:
            return None
        if self.options.fresh and self.is_chief:
            self.checkpoints.clear()
        loaded = None if self.options.fresh else self.checkpoints.load()
        if loaded is None:
            return None
        path, info, arrays = loaded
        identity, own_identity = info["identity"], self._identity()
        # What only one of them knows is of another release of the recipe.
        for name in sorted(identity.keys() & own_identity.keys()):
            there, here = identity[name], own_identity[name]
            if there != here:
                raise checkpointing.other_run(
                    path, f"{name} is {there!r} there and {here!r} here"
                )
        checkpointing.restore(self.model, self.optimizer, arrays, path)
        self.state = State(**info["state"])
        self.progress.report(
            f"Resuming from {path} after update {self.state.update:,}."
        )
        found = math.isfinite(self.state.best_nll)
        return self._read_best_weights() if found else None

    def _read_best_weights(self):
        current = self.model.get_weights()
        try:
            self.model.load_weights(self.checkpoints.best_path)
            return self.model.get_weights()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            self.progress.report(
                f"Warning: {self.checkpoints.best_path} cannot be read "
                f"({error}). The best weights are sought anew, from the "
                "checkpoint on."
            )
            self.state.forget_best()
            self.state.evaluation_due = self.dev_data is not None
            return None
        finally:
            self.model.set_weights(current)

    def next_phase(self):
        """The phase that is due, or `None`."""
        state = self.state
        if state.phase == len(self.phases):
            return None
        phase = self.phases[state.phase]
        due = state.stopped_early or phase.is_due(state.update, state.epoch)
        return phase if due else None

    def begin_phase(self, phase, best_weights):
        """Changes the objective; see `Phase`."""
        if best_weights is not None:
            self.model.set_weights(best_weights)
        if phase.reset_optimizer:
            for variable, value in zip(
                self.optimizer.variables, self._first_optimizer
            ):
                variable.assign(value)
        # It may set the learning rate, which is one of those variables.
        phase.begin()
        self.state.begin_phase(has_dev_data=self.dev_data is not None)

    def is_finished(self):
        if self.next_phase() is not None:
            return False
        state, options = self.state, self.options
        return (
            (options.patience is not None and state.stopped_early)
            or (options.steps is not None and state.update >= options.steps)
            or (options.epochs is not None and state.epoch >= options.epochs)
        )

    def _result(self):
        state = self.state
        return Result(
            updates=state.update,
            epochs=state.epoch,
            seconds=state.seconds,
            targets=state.target_tokens,
            targets_per_second=state.timed_tokens
            / max(state.timed_seconds, 1e-9),
            best_dev_nll=state.best_nll,
            best_dev_penalty=state.best_penalty,
            best_dev_score=state.best_score,
            best_update=state.best_update,
            stopped_early=state.stopped_early,
        )


class _Cancelled(Exception):
    """The predictions end before all of them were asked for."""


def _evaluation(totals, metric_names):
    nll, penalty, num_targets, num_sentences, *sums = totals.tolist()
    if not num_targets:
        raise ValueError("The data to score must have targets. Received none.")
    return Evaluation(
        nll=nll / num_targets,
        penalty=penalty / num_targets,
        nll_per_sentence=nll / num_sentences,
        targets=int(num_targets),
        metrics={
            name: value / num_targets for name, value in zip(metric_names, sums)
        },
    )


def _sum_over_workers(strategy, values):
    """Adds up an array over the processes."""

    @tf.function
    def total(values):
        def replica_total(values):
            context = tf.distribute.get_replica_context()
            return context.all_reduce(
                tf.distribute.ReduceOp.SUM, tf.identity(values)
            )

        results = strategy.run(replica_total, args=(values,))
        return strategy.experimental_local_results(results)[0]

    # Each of a worker's replicas adds the same values.
    return total(tf.constant(values / local_replicas(strategy))).numpy()
