"""Sampling: each beam draws its next token at random.

A draw is the argmax of the log-probabilities plus Gumbel noise. The noise is a
function of the text, the beam, the step and the token. The samples of a text
are thus the same in every batch, in every run and on every backend.

Shapes: B batch, K beams, C continuations of a beam, S source steps.
"""

from keras import ops

from tfcopy.layers.copying import MASKED
from tfcopy.layers.tensors import argmax

# Steps of the bisection that finds the lowest probability of a nucleus.
_HALVINGS = 30
# Odd constants of the hash: two of MurmurHash3, and one from the golden ratio.
_MIX_1, _MIX_2, _GOLDEN = 0x85EBCA6B, 0xC2B2AE35, 0x9E3779B1


def text_keys(copy_ids, valid):
    """Hashes the tokens of each text to a number, `(B,)`.

    Args:
        copy_ids: `(B, S)`.
        valid: Boolean, `(B, S)`; all other positions are ignored.
    """
    places = ops.arange(ops.shape(copy_ids)[1], dtype="int32")
    golden = _constant(_GOLDEN)
    hashed = _mix(_to_unsigned(copy_ids) + _mix(_to_unsigned(places) + golden))
    hashed = ops.where(valid, hashed, ops.zeros_like(hashed))
    # Sums of 16 bits each stay so small that every backend adds them exactly.
    halves = ops.bitwise_and(hashed, _constant(0xFFFF))
    return _mix(_to_unsigned(ops.sum(ops.cast(halves, "int32"), axis=1)))


def draw(log_probs, keys, step, options):
    """Draws one continuation of each beam.

    Args:
        log_probs: `(B, K, C)`, about `MASKED` where not allowed.
        keys: From `text_keys`, `(B,)`.
        step: Number of tokens so far; scalar tensor.
        options: `SearchOptions`.

    Returns:
        int32, `(B, K)`, indices along the last axis.

    Reference:
        [Fan et al., 2018](https://arxiv.org/abs/1805.04833) for `top_k`;
        [Holtzman et al., 2020](https://arxiv.org/abs/1904.09751) for `top_p`.
    """
    allowed = log_probs > MASKED / 2
    scores = log_probs / options.temperature
    if options.top_k:
        scores = ops.where(allowed, scores, MASKED)
        size = ops.shape(scores)[2]
        smaller = min if isinstance(size, int) else ops.minimum
        number = smaller(options.top_k, size)
        least = ops.min(ops.top_k(scores, number)[0], axis=-1, keepdims=True)
        allowed = allowed & (scores >= least)
    if options.top_p < 1.0:
        least = _least_of_nucleus(scores, allowed, options.top_p)
        allowed = allowed & (scores >= least)
    noise = _gumbel(keys, step, options.sample_seed, log_probs)
    return argmax(ops.where(allowed, scores + noise, MASKED))


def _least_of_nucleus(scores, allowed, share):
    """Finds the lowest score of the fewest tokens with a share of the mass.

    It uses bisection, since rows of a whole vocabulary are slow to sort.
    """
    scores = ops.where(allowed, scores, MASKED)
    mass = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True))
    wanted = share * ops.sum(mass, axis=-1, keepdims=True)
    low, high = ops.zeros_like(wanted), ops.ones_like(wanted)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = ops.where(mass >= middle, mass, ops.zeros_like(mass))
        enough = ops.sum(above, axis=-1, keepdims=True) >= wanted
        low = ops.where(enough, middle, low)
        high = ops.where(enough, high, middle)
    inside = ops.where(mass >= low, scores, ops.ones_like(scores) * -MASKED)
    return ops.min(inside, axis=-1, keepdims=True)


def _gumbel(keys, step, seed, log_probs):
    """Computes independent Gumbel noise, `(B, K, C)`."""
    beams = log_probs.shape[1]
    words = ops.arange(ops.shape(log_probs)[2], dtype="int32")
    at = _mix(_to_unsigned(step) * _constant(_GOLDEN) + _constant(seed))
    row = ops.expand_dims(ops.bitwise_xor(keys, at), 1)
    beam = _to_unsigned(ops.arange(beams, dtype="int32")) * _constant(_MIX_1)
    row = ops.expand_dims(_mix(row + beam), 2)  # (B, K, 1)
    word = _mix(_to_unsigned(words) * _constant(_GOLDEN))
    bits = _mix(_mix(row + word) ^ row)
    # 24 bits are exact in float32; the result is never 0 or 1.
    bits = ops.cast(ops.right_shift(bits, _constant(8)), "int32")
    uniform = (ops.cast(bits, "float32") + 0.5) * 2.0**-24
    return -ops.log(-ops.log(uniform))


def _mix(x):
    """Applies the finaliser of MurmurHash3, which flips half of the bits."""
    x = (x ^ ops.right_shift(x, _constant(16))) * _constant(_MIX_1)
    x = (x ^ ops.right_shift(x, _constant(13))) * _constant(_MIX_2)
    return x ^ ops.right_shift(x, _constant(16))


def _to_unsigned(x):
    return ops.cast(x, "uint32")


def _constant(number):
    return ops.convert_to_tensor(number, dtype="uint32")
