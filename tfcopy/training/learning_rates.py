"""Learning rates that rise first: schedules of Keras's kind that it lacks."""

import keras
from keras import ops
from keras.optimizers.schedules import LearningRateSchedule


@keras.saving.register_keras_serializable(package="tfcopy")
class WarmUp(LearningRateSchedule):
    """Rises linearly to the first rate of a schedule, which then begins.

    With warm-up over `W` updates, the rate of update `n`, counted from 1, is

        n / W * schedule(0)    where n <= W
        schedule(n - W)        after that

    so that no update is made with a rate of zero, as the first one is in
    Keras's own warm-up (`CosineDecay`), and update `W` has the highest rate.

    Args:
        schedule: `LearningRateSchedule`, or a number: a constant rate.
        updates: Positive integer, `W`; 1 is no warm-up.
    """

    def __init__(self, schedule, updates):
        super().__init__()
        if updates < 1:
            raise ValueError(
                f"`updates` must be a positive integer. Received: {updates}."
            )
        self.schedule = schedule
        self.updates = updates

    def __call__(self, step):
        updates = float(self.updates)
        number = ops.cast(step, "float32") + 1.0
        rate = self.schedule
        if isinstance(rate, LearningRateSchedule):
            rate = rate(ops.maximum(number - updates, 0.0))
        return rate * ops.minimum(number / updates, 1.0)

    def get_config(self):
        schedule = self.schedule
        if isinstance(schedule, LearningRateSchedule):
            schedule = keras.saving.serialize_keras_object(schedule)
        return {"schedule": schedule, "updates": self.updates}

    @classmethod
    def from_config(cls, config):
        schedule = config["schedule"]
        if isinstance(schedule, dict):
            schedule = keras.saving.deserialize_keras_object(schedule)
        return cls(schedule, config["updates"])


@keras.saving.register_keras_serializable(package="tfcopy")
class InverseSquareRoot(LearningRateSchedule):
    """Falls with the inverse square root of the number of updates.

    `rate * sqrt(W / (W + step))`. After warm-up over `W` updates (`WarmUp`)
    this is, in update `n`,

        rate * min(n / W, sqrt(W / n))

    which is the paper's equation, whose rate is `(d_model * W) ** -0.5`.

    Args:
        rate: Positive number, the rate at step 0.
        updates: Positive integer, `W`.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), equation 3.
    """

    def __init__(self, rate, updates):
        super().__init__()
        if updates < 1:
            raise ValueError(
                f"`updates` must be a positive integer. Received: {updates}."
            )
        self.rate = rate
        self.updates = updates

    def __call__(self, step):
        updates = float(self.updates)
        number = updates + ops.cast(step, "float32")
        return self.rate * ops.sqrt(updates / number)

    def get_config(self):
        return {"rate": self.rate, "updates": self.updates}
