"""Layers that attend, point and copy, on every Keras backend."""

from tfcopy.layers.attentional_gru_cell import AttentionalGRUCell
from tfcopy.layers.bahdanau_attention import BahdanauAttention
from tfcopy.layers.bidirectional_gru import BidirectionalGRU
from tfcopy.layers.bidirectional_lstm import BidirectionalLSTM
from tfcopy.layers.biscale_gru_cell import BiscaleGRUCell
from tfcopy.layers.coattention import Coattention
from tfcopy.layers.conditional_gru_cell import ConditionalGRUCell
from tfcopy.layers.copying import CopyDistribution, PlannedDistribution
from tfcopy.layers.copynet_head import CopyNetHead
from tfcopy.layers.coverage_attention import CoverageAttention
from tfcopy.layers.decoder import Decoder
from tfcopy.layers.deep_output import DeepOutput
from tfcopy.layers.definition_embedding import DefinitionEmbedding
from tfcopy.layers.definition_readers import (
    LSTMReader,
    MeanReader,
    RecurrentReader,
)
from tfcopy.layers.final_context import FinalContext
from tfcopy.layers.forward_lstm import ForwardLSTM
from tfcopy.layers.input_feeding_lstm_cell import InputFeedingLSTMCell
from tfcopy.layers.masked_pooling import MaskedPooling
from tfcopy.layers.noisy_tanh import NoisyTanh
from tfcopy.layers.output_projection import OutputProjection
from tfcopy.layers.phrase_combination import PhraseCombination
from tfcopy.layers.plan_attention import PlanAttention
from tfcopy.layers.pointer_generator_head import PointerGeneratorHead
from tfcopy.layers.pointer_softmax_head import PointerSoftmaxHead
from tfcopy.layers.position_one_hot import PositionOneHot
from tfcopy.layers.readout import Readout
from tfcopy.layers.selective_read_gru_cell import SelectiveReadGRUCell
from tfcopy.layers.soft_alignment import SoftAlignment
from tfcopy.layers.softmax_head import SoftmaxHead
from tfcopy.layers.span_head import SpanHead
from tfcopy.layers.state_reduction import StateReduction
from tfcopy.layers.transformer_annotations import TransformerAnnotations
from tfcopy.layers.two_layer_gru_cell import TwoLayerGRUCell
from tfcopy.layers.word_combination import WordCombination

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
    "NoisyTanh",
    "OutputProjection",
    "PhraseCombination",
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
    "TwoLayerGRUCell",
    "WordCombination",
]
