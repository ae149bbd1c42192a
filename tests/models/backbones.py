"""Small backbones of KerasHub's classes, with random weights."""

import keras
import numpy as np
import pytest

ROWS = 14
# What KerasHub says of its own T5.
QUIET = pytest.mark.filterwarnings("ignore:.*T5MultiHeadAttention:UserWarning")


def make_backbone(kind, seed=3, **options):
    """A backbone of two blocks on each side.

    Args:
        kind: `"bart"`, `"t5"`, or `"t5_untied"`.
        seed: Of its weights, which are large.
        options: Of the backbone.
    """
    import keras_hub

    sizes = {
        "vocabulary_size": ROWS,
        "num_layers": 2,
        "num_heads": 2,
        "hidden_dim": 8,
        "intermediate_dim": 12,
        "dropout": 0.0,
        **options,
    }
    if kind == "bart":
        sizes = {"max_sequence_length": 9, **sizes}
        backbone = keras_hub.models.BartBackbone(**sizes)
    else:
        backbone = keras_hub.models.T5Backbone(
            key_value_dim=3, tie_embedding_weights=kind == "t5", **sizes
        )
    rng = np.random.default_rng(seed)
    for weight in backbone.weights:
        # Larger ones would make rounding errors visible.
        scale = 0.3 if len(weight.shape) > 1 else 0.1
        values = rng.normal(size=weight.shape) * scale
        weight.assign(values + (weight.path.endswith(("gamma", "weight"))))
    keras.utils.set_random_seed(seed)
    return backbone
