"""Keras models of the papers, and copying models on KerasHub's backbones.

Examples of the models continue this one:

```python
import keras
import keras_hub
import numpy as np
import tensorflow as tf
from tfcopy import layers, losses, models

source_ids = np.array([[5, 1, 6, 3]], "int32")
batch = {
    "source_ids": source_ids,
    "source_copy_ids": np.array([[5, 10, 6, -1]], "int32"),
    "target_ids": np.array([[10, 5, 3]], "int32"),  # 10 is copied
    "pointers": np.array([[1, -1, -1]], "int32"),
}
data = tf.data.Dataset.from_tensors(batch)
sizes = {"embedding_dim": 4, "units": 4}
small = {"vocabulary_size": 14, "num_layers": 1, "num_heads": 2}
small |= {"hidden_dim": 8, "intermediate_dim": 12}
```
"""

import importlib

from tfcopy.models.backbone_choice import from_backbone
from tfcopy.models.coattention_network import coattention
from tfcopy.models.copy_model import CopyModel, Perplexity
from tfcopy.models.copynet import copynet
from tfcopy.models.definition_inputs import definition_inputs, definition_layout
from tfcopy.models.esim import esim
from tfcopy.models.lstm_language_model import lstm_language_model
from tfcopy.models.planner import planner
from tfcopy.models.pointer_generator import pointer_generator
from tfcopy.models.seq2seq import Seq2Seq
from tfcopy.models.translation_model import translator


def __getattr__(name):
    """Imports what needs KerasHub when it is used, since that takes seconds."""
    modules = {
        "LM": f"{__name__}.copy_seq2seq_lm",
        "Backbone": "tfcopy.layers.backbones.marian_backbone",
    }
    for end, module in modules.items():
        if name.endswith(end):
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CopyCausalLM",
    "CopyModel",
    "CopySeq2SeqLM",
    "M2M100Backbone",
    "MarianBackbone",
    "Perplexity",
    "Seq2Seq",
    "coattention",
    "copynet",
    "definition_inputs",
    "definition_layout",
    "esim",
    "from_backbone",
    "translator",
    "lstm_language_model",
    "planner",
    "pointer_generator",
]


def __dir__():
    return sorted({*globals(), *__all__})
