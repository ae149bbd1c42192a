"""Layers that attend, point and copy, on every Keras backend.

Examples of the layers continue this one:

```python
import keras
import numpy as np
from tfcopy import layers

ids = np.array([[5, 6, 4, 3], [4, 3, 0, 0]])  # B = 2, S = 4; 0 is padding
mask = ids != 0
embedded = keras.layers.Embedding(9, 6)(ids)
encoder = layers.BidirectionalGRU(4)
annotations, final = encoder(embedded, mask)  # (2, 4, 8), (2, 8)

targets = embedded[:, :3]  # the previous words, T = 3
matches = np.zeros((2, 3, 4), "float32")  # where the source has them
state = layers.StateReduction(5, parts=1)(annotations, mask, final)
states = layers.StateReduction(5)(annotations, mask, final)  # of two layers
cell = layers.ConditionalGRUCell(5, layers.BahdanauAttention(4))
decoder = layers.Decoder(cell)
decoded = decoder(targets, annotations, mask, matches, state)
features = layers.DeepOutput(4)(decoded)
```
"""

from tfcopy.layers.attention.bahdanau_attention import BahdanauAttention
from tfcopy.layers.attention.coverage_attention import (
    CoverageAttention,
    MultiHeadCoverageAttention,
)
from tfcopy.layers.attention.final_context import FinalContext
from tfcopy.layers.attention.multi_head_attention import MultiHeadAttention
from tfcopy.layers.attention.plan_attention import PlanAttention
from tfcopy.layers.cells.attentional_gru_cell import AttentionalGRUCell
from tfcopy.layers.cells.conditional_gru_cell import ConditionalGRUCell
from tfcopy.layers.cells.input_feeding_lstm_cell import InputFeedingLSTMCell
from tfcopy.layers.cells.selective_read_gru_cell import SelectiveReadGRUCell
from tfcopy.layers.cells.transformer_cell import TransformerCell
from tfcopy.layers.cells.two_layer_cells import BiscaleGRUCell, TwoLayerGRUCell
from tfcopy.layers.copying import CopyDistribution, PlannedDistribution
from tfcopy.layers.decoder import Decoder
from tfcopy.layers.definitions.combination import WordCombination
from tfcopy.layers.definitions.definition_embedding import DefinitionEmbedding
from tfcopy.layers.definitions.definition_readers import (
    LSTMReader,
    MeanReader,
    RecurrentReader,
)
from tfcopy.layers.encoders.matching import (
    Coattention,
    MaskedPooling,
    SoftAlignment,
)
from tfcopy.layers.encoders.recurrent import (
    BidirectionalGRU,
    BidirectionalLSTM,
    ForwardLSTM,
)
from tfcopy.layers.encoders.states import PositionOneHot, StateReduction
from tfcopy.layers.encoders.transformer_annotations import (
    TransformerAnnotations,
)
from tfcopy.layers.heads.copynet_head import CopyNetHead
from tfcopy.layers.heads.pointer_generator_head import PointerGeneratorHead
from tfcopy.layers.heads.pointer_softmax_head import (
    NoisyTanh,
    PointerSoftmaxHead,
)
from tfcopy.layers.heads.readouts import DeepOutput, OutputProjection, Readout
from tfcopy.layers.heads.softmax_head import SoftmaxHead
from tfcopy.layers.heads.span_head import SpanHead

__all__ = [
    "AttentionalGRUCell",
    "BahdanauAttention",
    "BidirectionalGRU",
    "BidirectionalLSTM",
    "BiscaleGRUCell",
    "Coattention",
    "ConditionalGRUCell",
    "CopyDistribution",
    "CopyNetHead",
    "CoverageAttention",
    "Decoder",
    "DeepOutput",
    "DefinitionEmbedding",
    "FinalContext",
    "ForwardLSTM",
    "InputFeedingLSTMCell",
    "LSTMReader",
    "MaskedPooling",
    "MeanReader",
    "MultiHeadAttention",
    "MultiHeadCoverageAttention",
    "NoisyTanh",
    "OutputProjection",
    "PlanAttention",
    "PlannedDistribution",
    "PointerGeneratorHead",
    "PointerSoftmaxHead",
    "PositionOneHot",
    "Readout",
    "RecurrentReader",
    "SelectiveReadGRUCell",
    "SoftAlignment",
    "SoftmaxHead",
    "SpanHead",
    "StateReduction",
    "TransformerAnnotations",
    "TransformerCell",
    "TwoLayerGRUCell",
    "WordCombination",
]
