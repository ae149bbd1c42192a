"""Planning attention ("plan, attend, generate"): PAG and rPAG.

Shapes: B batch, T target steps, S source steps, U units, k plan steps, E
embedding size.
"""

import keras
from keras import ops

from tfcopy.layers import tensors
from tfcopy.layers.attention.bahdanau_attention import BahdanauAttention
from tfcopy.layers.configured import Initializer, check_choice, check_positive
from tfcopy.layers.loop import Product, expand_beams

MODES = ("plan", "repeat")
SWITCHES = ("previous", "current")
# Initial bias of the temperature: with a state of zero, kappa is 1.154.
TEMPERATURE_BIAS = -1.8
# Logit that is appended when a plan moves on by one step, with `resample`.
_BEHIND = -10.0


@keras.saving.register_keras_serializable(package="tfcopy")
class PlanAttention(BahdanauAttention):
    """Attention that plans the alignments of the next `k` steps.

    The plan `A_j` holds the logits of source step j at each of the next `k`
    steps. With query `s`, value `h_j` and previous token `y`:

        p_j = h_j W_h + b_a + y W_y
        beta_j = tanh(A_j W_r + b_r)
        new_j = tanh(p_j + beta_j W_i + b_i + s W_d + b_d) W_p + b_p
        v_j = sigmoid(s W_B + p_j W_C)
        A_j <- g [(1 - v_j) new_j + v_j A_j] + (1 - g) shift(A_j)
        weights = softmax_j(A_j[0])

    The switch `g` is one or zero, from the commitment plan (see `commit`), and
    `shift` moves a plan on by one step. With `mode="repeat"` there is no plan
    of alignments: the logits of the alignment stay the same until `g` is one,
    and are then computed as in additive attention.

    `A` and the commitment plan are the state of `step`, all ones at first, so
    that the first step plans. `project` draws the noise for sampling the
    commitment plan, only in training. Without noise the most likely plan is
    taken.

    ```python
    attention = layers.PlanAttention(4, plan_steps=3)
    context, weights = attention(targets, annotations, mask, inputs=targets)
    ```

    Args:
        units: As in `BahdanauAttention`.
        use_bias: As in `BahdanauAttention`, for all biases of the equations.
        kernel_initializer: As in `BahdanauAttention`.
        plan_steps: k.
        mode: `"plan"` (PAG) or `"repeat"` (rPAG).
        summary_units: Size of `beta`.
        use_gate: Whether to compute the gate `v`; it is zero otherwise.
        reads_words: Whether to use `y`, as in `BahdanauAttention`.
        switch: `"previous"` or `"current"`; see `commit`.
        resample: See `commit`.
        inverse_temperature: A number, `kappa`; learned if `None`.
        layer_norm: Whether `s W_d + b_d`, `s W_B`, `s W_c + b_c` and
            `A_j W_r + b_r` are normalised.
        always_replan: Whether each step plans, a control for the effect of
            having more weights.
        sample_at_test: Whether to draw noise outside of training, too.
        seed: Optional integer, of the noise.
        use_score_bias: Whether to use `b_p`; `use_bias` if `None`.

    Call arguments:
        query: `(B, T, query_dim)`.
        value: `(B, S, value_dim)`.
        value_mask: Optional, boolean, `(B, S)`.
        inputs: Embeddings of the previous tokens, `(B, T, E)`, with
            `reads_words`.
        training: Whether to draw noise.

    Returns:
        `(context, attention_weights)`, as in `BahdanauAttention`.

    Reference:
        [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087), sections
        2.1 and 2.2; details that the paper leaves open are from the authors'
        code.
    """

    output_sizes = {"replan": 1, "commitment_deviation": 1}
    has_state = True

    def __init__(
        self,
        units: int,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        plan_steps: int = 10,
        mode: str = "plan",
        summary_units: int = 64,
        use_gate: bool = True,
        reads_words: bool = True,
        switch: str = "previous",
        resample: bool = False,
        inverse_temperature: float | None = None,
        layer_norm: bool = False,
        always_replan: bool = False,
        sample_at_test: bool = False,
        seed: int | None = None,
        use_score_bias: bool | None = None,
        **kwargs,
    ):
        super().__init__(
            units,
            use_bias,
            kernel_initializer,
            use_score_bias,
            reads_words,
            **kwargs,
        )
        self.keep_arguments(locals())
        check_choice("mode", mode, MODES)
        check_choice("switch", switch, SWITCHES)
        check_positive("plan_steps", plan_steps)
        self.seed_generator = keras.random.SeedGenerator(seed)

    @property
    def _plans(self):
        return self.mode == "plan"

    @property
    def _has_gate(self):
        return self._plans and self.use_gate

    @property
    def _sizes(self):
        """Sizes of the query's parts: hidden, z, kappa, gate, noise."""
        k = self.plan_steps
        gate = k if self._has_gate else 0
        return [self.units, k, 1, gate, k]

    @property
    def query_units(self):
        return sum(self._sizes)

    def build(self, query_shape, value_shape, inputs_shape=None):
        # === As in additive attention ===
        self.value_projection.build(value_shape)
        query_dim, k = query_shape[-1], self.plan_steps
        self.query_kernel = self._add_kernel("query", query_dim, self.units)
        outputs = k if self._plans else 1
        self.score_kernel = self._add_kernel("score", self.units, outputs)
        if self.reads_words:
            self._build_words(inputs_shape)
        if self.use_bias:
            self.query_bias = self._add_bias("query", self.units)
        if self.use_score_bias:
            self.score_bias = self._add_bias("score", outputs)
        # === Commitment ===
        self.commitment_kernel = self._add_kernel("commitment", query_dim, k)
        self.commitment_bias = self._add_bias("commitment", k)
        if self.inverse_temperature is None:
            self.temperature_kernel = self._add_kernel(
                "temperature", query_dim, 1
            )
            self.temperature_bias = self.add_weight(
                name="temperature_bias",
                shape=(1,),
                initializer=keras.initializers.Constant(TEMPERATURE_BIAS),
            )
        # === Plan ===
        if self._plans:
            units = self.summary_units
            self.summary_kernel = self._add_kernel("summary", k, units)
            self.summary_bias = self._add_bias("summary", units)
            self.read_kernel = self._add_kernel("read", units, self.units)
            if self.use_bias:
                self.read_bias = self._add_bias("read", self.units)
        if self._has_gate:
            self.gate_query_kernel = self._add_kernel(
                "gate_query", query_dim, k
            )
            self.gate_key_kernel = self._add_kernel("gate_key", self.units, k)
        self.norms = tensors.add_norms(self, self._norm_sizes())

    def _norm_sizes(self):
        """Returns the sizes of the layer normalisations, by name."""
        if not self.layer_norm:
            return {}
        sizes = {"hidden": self.units, "commitment": self.plan_steps}
        if self._has_gate:
            sizes["gate"] = self.plan_steps
        if self._plans:
            sizes["summary"] = self.summary_units
        return sizes

    def query_matrix(self):
        """Returns `[W_d W_c w W_B 0]`; the last columns are for noise."""
        rows = self.query_kernel.shape[0]
        dtype = self.query_kernel.dtype
        temperature = ops.zeros((rows, 1), dtype)
        if self.inverse_temperature is None:
            temperature = self.temperature_kernel
        parts = [self.query_kernel, self.commitment_kernel, temperature]
        if self._has_gate:
            parts.append(self.gate_query_kernel)
        parts.append(ops.zeros((rows, self.plan_steps), dtype))
        parts = [ops.convert_to_tensor(part) for part in parts]
        return ops.concatenate(parts, axis=-1)

    def project(self, inputs, training=False):
        """Projects the previous tokens, and draws noise, for all queries.

        Args:
            inputs: Embedded tokens, `(..., E)`.
            training: Whether to draw noise.

        Returns:
            `(..., query_units)`, float32.
        """
        leading = ops.shape(inputs)[:-1]
        hidden, z, kappa, gate, noise = (
            (*leading, size) for size in self._sizes
        )
        parts = [ops.zeros(shape, "float32") for shape in (hidden, z, kappa)]
        gate = ops.zeros(gate, "float32")
        if self.reads_words:
            parts[0] = self._read_words(inputs)
            if self._has_gate:
                gate = ops.matmul(
                    parts[0], ops.cast(self.gate_key_kernel, "float32")
                )
        if training or self.sample_at_test:
            noise = gumbel(noise, self.seed_generator)
        else:
            noise = ops.zeros(noise, "float32")
        return ops.concatenate([*parts, gate, noise], axis=-1)

    def prepare(self, value, value_mask=None):
        memory = super().prepare(value, value_mask)
        keys = memory.sentences["keys"]
        sentences = {}
        weights = {
            "query_bias": self._query_bias(),
            "norms": tensors.cast_norms(self.norms),
        }
        if self._has_gate:
            sentences["gate_keys"] = ops.matmul(
                keys, ops.cast(self.gate_key_kernel, "float32")
            )
        if self._plans:
            # Tensors, not `Product`s: the loop would keep the results of these
            # small kernels, `(T, B, S, units)`. Recomputing them is quicker.
            weights["summarize"] = (
                self._cast(self.summary_kernel),
                ops.convert_to_tensor(self.summary_bias),
            )
            weights["read"] = self._cast(self.read_kernel)
            if self.use_bias:  # Added here once; the gate has no bias.
                sentences["keys"] = keys + ops.cast(self.read_bias, keys.dtype)
        return memory.update(sentences, weights)

    def _query_bias(self):
        """Returns the biases of all parts of the query, float32."""
        hidden, z, kappa, gate, noise = (
            ops.zeros((size,), "float32") for size in self._sizes
        )
        if self.use_bias:
            hidden = ops.cast(self.query_bias, "float32")
        z = ops.cast(self.commitment_bias, "float32")
        if self.inverse_temperature is None:
            kappa = ops.cast(self.temperature_bias, "float32")
        return ops.concatenate([hidden, z, kappa, gate, noise])

    def _score_bias(self):
        if not self._plans:
            return super()._score_bias()
        # Because of the gate, it has an effect, unlike in plain attention.
        return ops.cast(self.score_bias, "float32")

    def initial_state(self, memory):
        """Returns the state before the first step: all ones.

        Returns:
            Dict of `alignment`, `(B, S, k)`, or `(B, S)` with `mode="repeat"`;
            of `commitment`; and of `replan`, for plots.
        """
        ones = ops.ones_like(memory.sentences["mask_bias"])
        batch = ops.shape(memory.sentences["mask_bias"])[0]
        if self._plans:
            ones = ops.expand_dims(ones, 2) * ops.ones((1, 1, self.plan_steps))
        return {
            "alignment": ones,
            "commitment": initial_commitment(batch, self.plan_steps),
            "replan": ops.ones((batch, 1), "float32"),
        }

    def outputs(self, state):
        """Returns the outputs for the layers after the decoder.

        Returns:
            Dict of `replan`, zero or one, and `commitment_deviation`, the
            deviation of the commitment plan's distribution from uniform.
        """
        probabilities = state["commitment"]["probabilities"]
        return {
            "replan": state["replan"],
            "commitment_deviation": deviation(probabilities),
        }

    def combine(self, product, words, memory):
        query = product + memory.weights["query_bias"]
        if self.layer_norm:
            norms = memory.weights["norms"]
            hidden, logits, kappa, gate, noise = self._split(query)
            hidden = tensors.normalize(hidden, norms["hidden"])
            logits = tensors.normalize(logits, norms["commitment"])
            if self._has_gate:
                gate = tensors.normalize(gate, norms["gate"])
            parts = [hidden, logits, kappa, gate, noise]
            query = ops.concatenate(parts, axis=-1)
        return query if words is None else query + words

    def step(self, query, state, memory, read=None):
        hidden, logits, kappa, gate, noise = self._split(query)
        if self.inverse_temperature is None:
            kappa = inverse_temperature(kappa)
        else:
            kappa = ops.full_like(kappa, self.inverse_temperature)
        previous = state["commitment"]
        replan, committed = commit(
            previous, logits, kappa, noise, self.switch, self.resample
        )
        if self.always_replan:
            replan = ops.ones_like(replan)
        keys = expand_beams(memory.sentences["keys"], query)
        hidden = keys + ops.expand_dims(hidden, -2)
        old = state["alignment"]
        if self._plans:
            new = self._new_plan(hidden, gate, old, memory)
            alignment = mix(replan, new, shift(old))
            scores = alignment[..., 0]
        else:
            new = ops.squeeze(self._scores(hidden, memory), -1)
            scores = alignment = mix(replan, new, old)
        context, log_weights, _ = self._read(scores, memory, read)
        state = {
            "alignment": alignment,
            "commitment": committed,
            "replan": replan,
        }
        return context, log_weights, state

    def _split(self, query):
        """Splits a query into hidden part, z, kappa, gate part and noise."""
        sizes = self._sizes
        places = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
        return tensors.split(query, places)

    def _new_plan(self, hidden, gate, old, memory):
        """Computes `(1 - v) new + v old`, `(B, S, k)`."""
        # One large product each.
        summary = Product(*memory.weights["summarize"])(old)
        if self.layer_norm:
            summary = tensors.normalize(
                summary, memory.weights["norms"]["summary"]
            )
        hidden = hidden + Product(memory.weights["read"])(ops.tanh(summary))
        new = self._scores(hidden, memory)
        if not self._has_gate:
            return new
        gate_keys = expand_beams(memory.sentences["gate_keys"], gate)
        keep = ops.sigmoid(ops.expand_dims(gate, -2) + gate_keys)
        return new + keep * (old - new)


def gumbel(shape, seed):
    """Draws Gumbel noise, float32, finite; `seed` is a `SeedGenerator`."""
    uniform = keras.random.uniform(shape, 1e-7, 1.0 - 1e-7, "float32", seed)
    return -ops.log(-ops.log(uniform))


def inverse_temperature(logits):
    """Computes `kappa`, above 1.001, from `s w + b`."""
    return 1.001 + ops.softplus(logits)


def shift(plan, last=0.0):
    """Moves a plan, `(..., k)`, on by one step; `last` is appended."""
    end = ops.full_like(plan[..., :1], last)
    return ops.concatenate([plan[..., 1:], end], axis=-1)


def straight_through(probabilities):
    """Returns the exact one-hot of the argmax, with the gradient of its input.

    Args:
        probabilities: `(B, k)`.
    """
    chosen = ops.one_hot(tensors.argmax(probabilities), probabilities.shape[-1])
    # In this order the value has no rounding error.
    return chosen + (probabilities - ops.stop_gradient(probabilities))


def mix(switch, new, old):
    """Returns `new` where the switch `(B, 1)` is one, `old` where it is zero.

    It mixes both, since the gradient of the switch is their difference.
    """
    while len(switch.shape) < len(new.shape):
        switch = ops.expand_dims(switch, -1)
    return switch * new + (1.0 - switch) * old


def initial_commitment(batch, plan_steps):
    """Returns the first commitment state, all ones: the first step plans."""
    ones = ops.ones((batch, plan_steps), "float32")
    return {"plan": ones, "probabilities": ones / plan_steps, "logits": ones}


def commit(state, logits, kappa, noise, switch="previous", resample=False):
    """Runs one step of the commitment plan, which decides when to replan.

        z = s W_c + b_c,  kappa = 1.001 + softplus(s w + b)
        p = softmax(kappa (z + G)),  c = onehot(argmax p), straight through

    A plan `c` of `k` steps is one-hot; where its first element is one, the
    planner replans and draws a new `c`. Otherwise `c` moves on by one step.

    Args:
        state: Dict of `plan` (c), `probabilities` (the distribution that the
            current plan was drawn from) and `logits`, all `(B, k)`.
        logits: z, `(B, k)`.
        kappa: `(B, 1)`.
        noise: Gumbel noise, `(B, k)`.
        switch: `"previous"`: the previous commitment plan decides whether to
            replan at this step. `"current"`, as in the authors' code: the
            commitment plan after this step decides.
        resample: Whether a plan that moves on is drawn again from its moved
            logits, as in the authors' code. The step of the next replanning has
            the same distribution, but a different gradient.

    Returns:
        `(replan, state)`; `replan` is `(B, 1)`, zero or one.

    Reference:
        [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087), section 2.1;
        Gumbel-softmax: [Jang et al., 2017](https://arxiv.org/abs/1611.01144).
    """
    renew = state["plan"][..., :1]
    if resample:
        logits = mix(renew, logits, shift(state["logits"], _BEHIND))
    # Not `ops.softmax`, which logs a warning for plans of one step.
    probabilities = ops.exp(ops.log_softmax(kappa * (logits + noise), axis=-1))
    plan = straight_through(probabilities)
    if not resample:
        plan = mix(renew, plan, shift(state["plan"]))
        probabilities = mix(renew, probabilities, state["probabilities"])
    state = {"plan": plan, "probabilities": probabilities, "logits": logits}
    return (renew if switch == "previous" else plan[..., :1]), state


def deviation(probabilities):
    """Computes `sum_i (1/k - p_i)^2`, `(B, 1)`: zero for a uniform p."""
    difference = 1.0 / probabilities.shape[-1] - probabilities
    return ops.sum(ops.square(difference), axis=-1, keepdims=True)
