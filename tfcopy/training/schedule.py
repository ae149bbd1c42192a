"""What is due after which update: dev scores, phases, the end."""

import math

import numpy as np

from tfcopy.training.phases import multiply_rate


class Schedule:
    """Determines what is due, and changes the objective when a phase begins.

    Args:
        options: `Options`.
        phases: `Phase`s, in the order of their starts.
        optimizer: Keras optimizer, built, as it is when training begins.
        has_dev_data: Whether there are dev scores.
    """

    def __init__(self, options, phases, optimizer, has_dev_data):
        self._options = options
        self._phases = tuple(phases)
        self._optimizer = optimizer
        self._has_dev_data = has_dev_data
        self._first_values = [
            np.array(variable) for variable in optimizer.variables if phases
        ]

    @property
    def num_phases(self):
        """Number of phases, with the one that training begins with."""
        return len(self._phases) + 1

    def phase_due(self, state):
        """The phase that is to begin at a `State`, or `None`."""
        if state.phase == len(self._phases):
            return None
        phase = self._phases[state.phase]
        is_due = state.stopped_early or phase.is_due(state.update, state.epoch)
        return phase if is_due else None

    def begin(self, phase, state):
        """Begins a phase; the model must have the weights it starts from."""
        if phase.reset_optimizer:
            for variable, value in zip(
                self._optimizer.variables, self._first_values
            ):
                variable.assign(value)
        # It may set the learning rate, which is one of those variables.
        phase.begin()
        state.phase += 1
        state.forget_best()
        state.kept = []
        state.evaluation_due = self._has_dev_data

    def is_finished(self, state):
        """Whether training is at its end."""
        if self.phase_due(state) is not None:
            return False
        options = self._options
        return (
            (options.patience is not None and state.stopped_early)
            or (options.steps is not None and state.update >= options.steps)
            or (options.epochs is not None and state.epoch >= options.epochs)
        )

    def is_average_due(self, state):
        """Whether the weights that were kept are to be averaged now."""
        return (
            bool(state.kept)
            and state.average is None
            and self.is_finished(state)
        )

    def count_update(self, update, state):
        """Notes whether dev scores are due after an `Update`."""
        every = self._options.eval_every
        is_due = (
            update.ends_epoch if every is None else not state.update % every
        )
        state.evaluation_due = self._has_dev_data and (
            is_due or self.is_finished(state)
        )

    def count_end_of_data(self, state):
        """Notes that the last epoch has ended without a further update."""
        state.epoch, state.batch = self._options.epochs, 0
        state.evaluation_due = self._has_dev_data

    def count_scores(self, scores, state):
        """Notes the dev scores, an `Evaluation`, of the present weights.

        Returns:
            Whether they are the best so far.
        """
        options = self._options
        # The same weights are scored again if the best ones have been lost.
        earlier = [row for row in state.dev_history if row[0] < state.update]
        state.dev_history = [*earlier, [state.update, scores.nll]]
        score = options.score and scores.metrics[options.score]
        is_best = self._are_better(scores, score, state)
        state.kept = self._kept(scores, score, state)
        if is_best:
            state.best_nll, state.best_penalty = scores.nll, scores.penalty
            state.best_score = score
            state.best_update = state.update
            state.bad_evaluations = 0
        else:
            state.bad_evaluations += 1
            plateau = options.plateau
            if plateau is not None and not state.bad_evaluations % plateau:
                multiply_rate(self._optimizer, 0.5)
        state.stopped_early = (
            options.patience is not None
            and state.bad_evaluations >= options.patience
        )
        state.evaluation_due = False
        return is_best

    def _kept(self, scores, score, state):
        """The dev scores whose weights are kept to be averaged."""
        options = self._options
        if options.average is None:
            return []
        cost = scores.nll + scores.penalty
        if score is not None:
            cost = score if options.lower_is_better else -score
        rows = [row for row in state.kept if row[0] < state.update]
        rows.append([state.update, math.inf if math.isnan(cost) else cost])
        if options.average == "best":  # of equal ones the earlier
            rows = sorted(rows, key=lambda row: row[::-1])[: options.average_of]
        return sorted(rows)[-options.average_of :]

    def _are_better(self, scores, score, state):
        if score is None:
            cost = scores.nll + scores.penalty
            return cost < state.best_nll + state.best_penalty
        if state.best_score is None:
            return not math.isnan(score)
        if self._options.lower_is_better:
            return score < state.best_score
        return score > state.best_score
