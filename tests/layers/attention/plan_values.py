"""Known values of a planner, from sines: kernels, sources and queries.

`F(n, ...)` is `sin(1.3 n + 0.7 i + 1.1 j)` of row i and column j.
"""

import numpy as np

X, C, k = 4, 2, 3
MASK = np.array([[True, True, True, False]])


def F(n, *shape):
    *rows, columns = shape
    j = np.arange(columns)
    i = np.arange(rows[0])[:, None] if rows else 0
    return np.sin(1.3 * n + 0.7 * i + 1.1 * j).astype("float32")


WEIGHTS = {
    "value_projection/kernel": F(1, 2, 2),
    "value_projection/bias": F(2, 2),
    "input_kernel": F(3, 2, 2),
    "summary_kernel": F(4, 3, 2),
    "summary_bias": F(5, 2),
    "read_kernel": F(6, 2, 2),
    "read_bias": F(7, 2),
    "query_kernel": F(8, 2, 2),
    "query_bias": F(9, 2),
    "score_kernel": F(10, 2, 3),
    "score_bias": F(11, 3),
    "gate_query_kernel": F(12, 2, 3),
    "gate_key_kernel": F(13, 2, 3),
    "commitment_kernel": F(14, 2, 3),
    "commitment_bias": F(15, 3),
    "temperature_kernel": F(16, 2)[:, None],
    "temperature_bias": np.array([-1.8], "float32"),
}
VALUE = 2 * np.sin(
    26 + 1.9 * np.arange(X)[:, None] + 1.1 * np.arange(C)
).astype("float32")
VALUE = VALUE[None]
WORDS = [np.zeros((1, 2), "float32")] + [F(30 + t, 2)[None] for t in (1, 2, 3)]
QUERIES = [F(40 + t, 2)[None] for t in range(4)]


def set_weights(layer, weights=WEIGHTS):
    """Sets weights by the end of their path; each must be there once."""
    for weight in layer.weights:
        if "seed" in weight.path:
            continue
        name = next(x for x in weights if f"/{weight.path}".endswith(f"/{x}"))
        value = weights[name]
        if name.startswith("score"):  # a repeater has the first column
            value = value[..., : weight.shape[-1]]
        weight.assign(value)
