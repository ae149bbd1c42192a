"""The commitment plan: when a planner replans.

    z = s W_c + b_c,  kappa = 1.001 + softplus(s w + b)
    p = softmax(kappa (z + G)),  c = onehot(argmax p), straight through

A plan `c` of `k` steps is one-hot; where its first element is one, the planner
replans and draws a new `c`. Otherwise `c` moves on by one step.

Shapes: B batch, k plan steps.

Reference:
    [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087), section 2.1;
    Gumbel-softmax: [Jang et al., 2017](https://arxiv.org/abs/1611.01144).
"""

import keras
from keras import ops

# Where the temperature's bias starts: kappa is 1.154 without a state.
TEMPERATURE_BIAS = -1.8
# The logit that enters at the plan's end, if plans are drawn again at each
# step.
_BEHIND = -10.0


def gumbel(shape, seed):
    """Gumbel noise, float32, finite; `seed` is a `SeedGenerator`."""
    uniform = keras.random.uniform(shape, 1e-7, 1.0 - 1e-7, "float32", seed)
    return -ops.log(-ops.log(uniform))


def inverse_temperature(logits):
    """`kappa`, above 1.001, of `s w + b`."""
    return 1.001 + ops.softplus(logits)


def shift(plan, last=0.0):
    """A plan one step on: `(..., k)`, whose last step becomes `last`."""
    end = ops.full_like(plan[..., :1], last)
    return ops.concatenate([plan[..., 1:], end], axis=-1)


def straight_through(probabilities):
    """One-hot of the argmax, exactly; its gradient is that of its argument.

    Args:
        probabilities: `(B, k)`.
    """
    chosen = ops.one_hot(
        ops.argmax(probabilities, axis=-1), probabilities.shape[-1]
    )
    # In this order the value has no rounding error.
    return chosen + (probabilities - ops.stop_gradient(probabilities))


def mix(switch, new, old):
    """`new` where the switch `(B, 1)` is one, `old` where it is zero.

    Both are computed and mixed, since the switch's gradient is their
    difference.
    """
    while len(switch.shape) < len(new.shape):
        switch = ops.expand_dims(switch, -1)
    return switch * new + (1.0 - switch) * old


def initial_commitment(batch, plan_steps):
    """The commitment state at first: all ones, so that the first step plans."""
    ones = ops.ones((batch, plan_steps), "float32")
    return {"plan": ones, "probabilities": ones / plan_steps, "logits": ones}


def commit(state, logits, kappa, noise, switch="previous", resample=False):
    """One step of the commitment plan.

    Args:
        state: Dict of `plan` (c), `probabilities` (those that the plan in
            force was drawn from) and `logits`, all `(B, k)`.
        logits: z, `(B, k)`.
        kappa: `(B, 1)`.
        noise: Gumbel noise, `(B, k)`.
        switch: `"previous"`: the last plan decides whether to replan now.
            `"current"`, as in the authors' code: a new commitment plan is drawn
            then, and decides.
        resample: Whether, as in the authors' code, plans that move on are drawn
            again from their moved logits. The time of the next plan has the
            same distribution, but another gradient.

    Returns:
        `(replan, state)`; `replan` is `(B, 1)`, zero or one.
    """
    renew = state["plan"][..., :1]
    if resample:
        logits = mix(renew, logits, shift(state["logits"], _BEHIND))
    # `ops.softmax` warns of plans of one step.
    probabilities = ops.exp(ops.log_softmax(kappa * (logits + noise), axis=-1))
    plan = straight_through(probabilities)
    if not resample:
        plan = mix(renew, plan, shift(state["plan"]))
        probabilities = mix(renew, probabilities, state["probabilities"])
    state = {"plan": plan, "probabilities": probabilities, "logits": logits}
    return (renew if switch == "previous" else plan[..., :1]), state


def deviation(probabilities):
    """`sum_i (1/k - p_i)^2`, `(B, k)` to `(B, 1)`: zero where p is uniform."""
    difference = 1.0 / probabilities.shape[-1] - probabilities
    return ops.sum(ops.square(difference), axis=-1, keepdims=True)
