"""A stand-in model: the next word's distribution is looked up in a table.

It depends on the sentence, the step and the word before. Shapes: B batch, L
steps, V vocabulary, S source steps.
"""

import numpy as np
from keras import ops

from tfcopy import tokens
from tfcopy.layers.copying import CopyDistribution, generation_ids
from tfcopy.layers.loop import Memory


class TableModel:
    """The part of a model that `beam_search` needs.

    Args:
        logits: `(B, L, V, V)`: step, word before, word.
        attention: `(B, L, V, S)`; sums to one.
        generate: Probability to generate, `(B, L, V)`.
    """

    def __init__(self, logits, attention, generate):
        self.vocabulary_size = logits.shape[-1]
        with np.errstate(divide="ignore"):
            attention = np.maximum(np.log(attention), -1e9)
        pairs = {
            "logits": logits,
            "attention": attention,
            "generate": np.log(generate),
            "point": np.log1p(-generate),
        }
        self.memory = {k: x.astype("float32") for k, x in pairs.items()}

    def encode(self, source_ids, source_copy_ids):
        memory = {
            k: ops.convert_to_tensor(x[: len(source_ids)])
            for k, x in self.memory.items()
        }
        return Memory(memory, {}), ops.zeros((len(source_ids),), dtype="int32")

    def decode_step(self, ids, state, memory):
        memory = memory.sentences
        rows = ops.expand_dims(ops.arange(ops.shape(ids)[0]), 1)
        steps, words = memory["generate"].shape[1:]
        ids = generation_ids(ids, words)
        places = (rows * steps + state) * words + ids  # (B, K)

        def now(name):
            table = memory[name]
            flat = ops.reshape(table, (-1, *table.shape[3:]))
            return ops.take(flat, places, axis=0)

        attention = now("attention")
        distribution = CopyDistribution(
            generate_logits=now("logits"),
            log_generate=now("generate"),
            copy_log_probs=ops.expand_dims(now("point"), -1) + attention,
            attention=attention,
        )
        return distribution, ops.exp(attention), state + 1


def probabilities(model, row, step, previous, copy_ids, merge="sum"):
    """`p(word)` of the extended vocabulary, `(V + S,)`, in NumPy.

    PAD and BOS are no words. With `"max"`, that of the best way to say it.
    """
    either = {"sum": np.add, "max": np.maximum}[merge]
    memory = {k: x[row, step, previous] for k, x in model.memory.items()}
    logits = memory["logits"].astype("float64")
    words = np.exp(logits - np.logaddexp.reduce(logits))
    p = np.zeros(len(words) + len(copy_ids))
    p[: len(words)] = np.exp(memory["generate"]) * words
    copied = np.exp(memory["point"]) * np.exp(memory["attention"])
    for word, mass in zip(copy_ids, copied):
        if word >= 0:
            p[word] = either(p[word], mass)
    p[[tokens.PAD, tokens.BOS]] = 0
    return p


def random_model(seed, source_ids, steps, vocabulary_size, eos_logit=0.0):
    """A `TableModel` with random tables; padding gets no attention."""
    rng = np.random.default_rng(seed)
    size = (len(source_ids), steps, vocabulary_size)
    logits = rng.normal(size=(*size, vocabulary_size)) * 1.5
    logits[..., tokens.EOS] += eos_logit
    attention = rng.exponential(size=(*size, source_ids.shape[1]))
    attention *= (source_ids != tokens.PAD)[:, None, None]
    attention /= attention.sum(-1, keepdims=True)
    return TableModel(logits, attention, rng.uniform(0.2, 0.8, size))
