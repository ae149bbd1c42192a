"""Attention that plans ahead.

Shapes: B batch, T target steps, S source steps, U units, k plan steps, E size
of the words' embeddings.
"""

import keras
from keras import ops

from tfcopy.layers.attention import commitment
from tfcopy.layers.attention.bahdanau_attention import BahdanauAttention
from tfcopy.layers.layer_norm import add_norms, normalize, norms_memory
from tfcopy.layers.loop import Product, scan

MODES = ("plan", "repeat")
SWITCHES = ("previous", "current")


@keras.saving.register_keras_serializable(package="tfcopy")
class PlanAttention(BahdanauAttention):
    """Plans the alignments of the next `k` steps, and when to plan anew.

    With query `s`, value `h_j`, the word before `y`, and the plan `A`, logits
    of the weights of source step j at each of the next steps:

        p_j = h_j W_h + b_a + y W_y
        beta_j = tanh(A_j W_r + b_r)
        new_j = tanh(p_j + beta_j W_i + b_i + s W_d + b_d) W_p + b_p
        v_j = sigmoid(s W_B + p_j W_C)
        A_j <- g [(1 - v_j) new_j + v_j A_j] + (1 - g) shift(A_j)
        weights = softmax_j(A_j[0])

    `g` is one where the commitment plan says so, see `commitment`, and else
    zero; `shift` moves a plan on by one step. With `mode="repeat"` there is
    no plan of the alignment: its logits stay what they are until `g` is one,
    and are then those of additive attention.

    `A` and the commitment plan are the state that `step` carries, all ones at
    first, so that the first step plans. Noise that draws the commitment plan
    comes from `project`, in training alone; without it the likeliest one is
    taken.

    Args:
        units: As in `BahdanauAttention`, and so are the next two.
        use_bias: As there; here of all that has a bias above.
        kernel_initializer: As there.
        plan_steps: k.
        mode: `"plan"` (PAG) or `"repeat"` (rPAG).
        summary_units: Size of `beta`.
        use_gate: Whether there is a `v`; zero if not.
        reads_words: Whether there is a `y`: as in `BahdanauAttention`.
        switch: `"previous"` or `"current"`; see `commitment.commit`.
        resample: See there.
        inverse_temperature: A number, `kappa`; learned if `None`.
        layer_norm: Whether `s W_d + b_d`, `s W_B`, `s W_c + b_c` and
            `A_j W_r + b_r` are normalised.
        always_replan: Whether each step plans, the control that tells
            planning from having more weights.
        sample_at_test: Whether there is noise outside of training too.
        seed: Optional integer, of the noise.

    Call arguments:
        query: `(B, T, query_dim)`.
        value: `(B, S, value_dim)`.
        value_mask: Optional, boolean, `(B, S)`.
        inputs: The words before, embedded, `(B, T, E)`, with `reads_words`.
        training: Whether noise is drawn.

    Returns:
        `(context, attention_weights)`, as `BahdanauAttention`.

    Reference:
        [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087), sections
        2.1 and 2.2; what the paper leaves open is as in the authors' code.
    """

    output_sizes = {"replan": 1, "commitment_deviation": 1}

    def __init__(
        self,
        units,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        plan_steps=10,
        mode="plan",
        summary_units=64,
        use_gate=True,
        reads_words=True,
        switch="previous",
        resample=False,
        inverse_temperature=None,
        layer_norm=False,
        always_replan=False,
        sample_at_test=False,
        seed=None,
        **kwargs,
    ):
        super().__init__(
            units,
            use_bias,
            kernel_initializer,
            reads_words=reads_words,
            **kwargs,
        )
        for name, value, choices in (
            ("mode", mode, MODES),
            ("switch", switch, SWITCHES),
        ):
            if value not in choices:
                raise ValueError(
                    f"`{name}` must be one of {choices}. "
                    f"Received: {name}={value!r}."
                )
        if plan_steps <= 0:
            raise ValueError(
                "`plan_steps` must be a positive integer. "
                f"Received: plan_steps={plan_steps}."
            )
        self.plan_steps = plan_steps
        self.mode = mode
        self.summary_units = summary_units
        self.use_gate = use_gate
        self.switch = switch
        self.resample = resample
        self.inverse_temperature = inverse_temperature
        self.layer_norm = layer_norm
        self.always_replan = always_replan
        self.sample_at_test = sample_at_test
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    @property
    def _plans(self):
        return self.mode == "plan"

    @property
    def _has_gate(self):
        return self._plans and self.use_gate

    @property
    def _sizes(self):
        """Parts of the query's product: hidden, z, kappa, gate, noise."""
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
        self.query_kernel = self._kernel("query", query_dim, self.units)
        outputs = k if self._plans else 1
        self.score_kernel = self._kernel("score", self.units, outputs)
        if self.reads_words:
            self._build_words(inputs_shape)
        if self.use_bias:
            self.query_bias = self._bias("query", self.units)
            self.score_bias = self._bias("score", outputs)
        # === Commitment ===
        self.commitment_kernel = self._kernel("commitment", query_dim, k)
        self.commitment_bias = self._bias("commitment", k)
        if self.inverse_temperature is None:
            self.temperature_kernel = self._kernel("temperature", query_dim, 1)
            self.temperature_bias = self.add_weight(
                name="temperature_bias",
                shape=(1,),
                initializer=keras.initializers.Constant(
                    commitment.TEMPERATURE_BIAS
                ),
            )
        # === Plan ===
        if self._plans:
            units = self.summary_units
            self.summary_kernel = self._kernel("summary", k, units)
            self.summary_bias = self._bias("summary", units)
            self.read_kernel = self._kernel("read", units, self.units)
            if self.use_bias:
                self.read_bias = self._bias("read", self.units)
        if self._has_gate:
            self.gate_query_kernel = self._kernel("gate_query", query_dim, k)
            self.gate_key_kernel = self._kernel("gate_key", self.units, k)
        if self.layer_norm:
            self._build_norms()

    def _build_norms(self):
        sizes = {"hidden": self.units, "commitment": self.plan_steps}
        if self._has_gate:
            sizes["gate"] = self.plan_steps
        if self._plans:
            sizes["summary"] = self.summary_units
        self.norms = add_norms(self, sizes)

    def _kernel(self, name, *shape):
        return self.add_weight(
            name=f"{name}_kernel",
            shape=shape,
            initializer=self.kernel_initializer,
        )

    def _bias(self, name, size):
        return self.add_weight(
            name=f"{name}_bias", shape=(size,), initializer="zeros"
        )

    def query_matrix(self):
        """`[W_d W_c w W_B 0]`; noise takes the last columns."""
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
        """What words and noise add to the queries of all steps.

        Args:
            inputs: Embedded words, `(..., E)`.
            training: Whether noise is drawn.

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
            noise = commitment.gumbel(noise, self.seed_generator)
        else:
            noise = ops.zeros(noise, "float32")
        return ops.concatenate([*parts, gate, noise], axis=-1)

    def prepare(self, value, value_mask=None):
        memory = super().prepare(value, value_mask)
        keys = memory["keys"]

        def cast(x):
            return ops.cast(x, self.compute_dtype)

        if self._plans and self.use_bias:
            # Unlike that of plain attention, the gate lets it count.
            memory["weight_score_bias"] = ops.cast(self.score_bias, "float32")
        biases = [
            self.query_bias if self.use_bias else ops.zeros((self.units,)),
            self.commitment_bias,
            ops.zeros((1,))
            if self.inverse_temperature is not None
            else self.temperature_bias,
        ]
        biases.append(ops.zeros((sum(self._sizes[3:]),)))
        memory["weight_query_bias"] = ops.concatenate(
            [ops.cast(bias, "float32") for bias in biases]
        )
        if self._has_gate:
            memory["gate_keys"] = ops.matmul(
                keys, ops.cast(self.gate_key_kernel, "float32")
            )
        if self._plans:
            # Weights and not `Product`s: the loop would keep what these small
            # kernels give, `(T, B, S, units)`, and it is quicker made again.
            memory["weight_summarize"] = cast(self.summary_kernel)
            memory["weight_summarize_bias"] = self.summary_bias
            memory["weight_read"] = cast(self.read_kernel)
            if self.use_bias:  # Added once, and to no gate.
                bias = ops.cast(self.read_bias, keys.dtype)
                memory["keys"] = keys + bias
        if self.layer_norm:
            memory |= norms_memory(self.norms)
        return memory

    def initial_state(self, memory):
        """The state before the first step: all ones.

        Returns:
            Dict of `alignment`, `(B, S, k)`, or `(B, S)` of a repeater, and
            of `commitment`; `replan` is for the pictures.
        """
        mask_bias = memory["mask_bias"]
        ones = ops.ones_like(mask_bias)
        batch = ops.shape(mask_bias)[0]
        if self._plans:
            ones = ops.repeat(
                ops.expand_dims(ones, -1), self.plan_steps, axis=-1
            )
        return {
            "alignment": ones,
            "commitment": commitment.initial_commitment(batch, self.plan_steps),
            "replan": ops.ones((batch, 1), "float32"),
        }

    def outputs(self, state):
        """`replan`, zero or one, and how far from uniform the plan's law is."""
        probabilities = state["commitment"]["probabilities"]
        return {
            "replan": state["replan"],
            "commitment_deviation": commitment.deviation(probabilities),
        }

    def combine(self, product, words, memory):
        query = product + memory["weight_query_bias"]
        if self.layer_norm:
            hidden, logits, kappa, gate, noise = self._split(query)
            hidden = normalize(hidden, "hidden", memory)
            logits = normalize(logits, "commitment", memory)
            if self._has_gate:
                gate = normalize(gate, "gate", memory)
            parts = [hidden, logits, kappa, gate, noise]
            query = ops.concatenate(parts, axis=-1)
        return query if words is None else query + words

    def step(self, query, state, memory, read=None):
        hidden, logits, kappa, gate, noise = self._split(query)
        if self.inverse_temperature is None:
            kappa = commitment.inverse_temperature(kappa)
        else:
            kappa = ops.full_like(kappa, self.inverse_temperature)
        replan, committed = commitment.commit(
            state["commitment"],
            logits,
            kappa,
            noise,
            self.switch,
            self.resample,
        )
        if self.always_replan:
            replan = ops.ones_like(replan)
        hidden = memory["keys"] + ops.expand_dims(hidden, 1)
        old = state["alignment"]
        if self._plans:
            new = self._new_plan(hidden, gate, old, memory)
            alignment = commitment.mix(replan, new, commitment.shift(old))
            scores = alignment[..., 0]
        else:
            new = ops.squeeze(self._scores(hidden, memory), -1)
            scores = alignment = commitment.mix(replan, new, old)
        context, log_weights, _ = self._read(scores, memory, read)
        state = {
            "alignment": alignment,
            "commitment": committed,
            "replan": replan,
        }
        return context, log_weights, state

    def _split(self, query):
        """Hidden part, z, kappa, gate part and noise of a query."""
        sizes = self._sizes
        places = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
        return ops.split(query, places, axis=-1)

    def _new_plan(self, hidden, gate, old, memory):
        """`(1 - v) new + v old`, `(B, S, k)`."""
        summary = _multiply(old, "summarize", memory)
        if self.layer_norm:
            summary = normalize(summary, "summary", memory)
        hidden = hidden + _multiply(ops.tanh(summary), "read", memory)
        new = self._scores(hidden, memory)
        if not self._has_gate:
            return new
        keep = ops.sigmoid(ops.expand_dims(gate, 1) + memory["gate_keys"])
        return new + keep * (old - new)

    def call(self, query, value, value_mask=None, inputs=None, training=False):
        memory = self.prepare(value, value_mask)
        words = query if inputs is None else inputs
        words = self.project(ops.transpose(words, (1, 0, 2)), training)
        query = ops.matmul(
            ops.cast(query, self.compute_dtype),
            ops.cast(self.query_matrix(), self.compute_dtype),
        )
        query = ops.transpose(ops.cast(query, "float32"), (1, 0, 2))

        def step(inputs, state, memory):
            query = self.combine(*inputs, memory)
            context, log_weights, state = self.step(query, state, memory)
            return (context, ops.exp(log_weights)), state

        outputs, _ = scan(
            step, (query, words), self.initial_state(memory), memory, training
        )
        return tuple(ops.transpose(x, (1, 0, 2)) for x in outputs)

    def compute_output_spec(
        self, query, value, value_mask=None, inputs=None, training=False
    ):
        return super().compute_output_spec(query, value, value_mask)

    def get_config(self):
        config = super().get_config()
        del config["use_score_bias"]
        return {
            **config,
            "plan_steps": self.plan_steps,
            "mode": self.mode,
            "summary_units": self.summary_units,
            "use_gate": self.use_gate,
            "switch": self.switch,
            "resample": self.resample,
            "inverse_temperature": self.inverse_temperature,
            "layer_norm": self.layer_norm,
            "always_replan": self.always_replan,
            "sample_at_test": self.sample_at_test,
            "seed": self.seed,
        }


def _multiply(x, name, memory):
    """`x @ kernel + bias`, with the weights of that name."""
    bias = memory.get(f"weight_{name}_bias")
    product = Product(memory[f"weight_{name}"], bias)
    y = product(ops.reshape(x, (-1, x.shape[-1])))  # one large product
    return ops.reshape(y, (*ops.shape(x)[:-1], y.shape[-1]))
