"""Every layer with small inputs, for tests that run all of them."""

import functools

import numpy as np

from tests.layers.flat_arguments import (
    FlatCombination,
    FlatEmbedding,
    FlatReader,
)
from tests.layers.random_inputs import MASK, decoder_inputs, normal, sequences
from tfcopy import layers
from tfcopy.layers.decoder import TeacherForcing
from tfcopy.layers.encoders.recurrent import WordGRU
from tfcopy.layers.encoders.states import MeanInitialState
from tfcopy.layers.tensors import PaddingMask
from tfcopy.tokens import HEADS

B, S, T, V = 2, 4, 3, 7
SOURCE_IDS = np.array([[5, 1, 6, 3], [4, 3, 0, 0]], "int32")
TARGET_IDS = np.array([[V + 1, 5, 3], [4, 3, 0]], "int32")
BATCH = {
    "source_ids": SOURCE_IDS,
    "source_copy_ids": np.array(
        [[5, V + 1, V + 1, -1], [4, -1, -1, -1]], "int32"
    ),
    "target_ids": TARGET_IDS,
    "pointers": np.array([[1, -2, -1], [-1, -1, -1]], "int32"),
}


MATCHES = np.zeros((B, T, S), "float32")
MATCHES[0, 1, 1:3] = MATCHES[1, 1, 0] = 1
SEQUENCES = sequences()
DECODER_INPUTS = {**decoder_inputs(), "matches": MATCHES}
ATTENTION_INPUTS = {
    "query": normal(B, T, 5),
    "value": normal(B, S, 6),
    "value_mask": MASK,
}
PLAN_INPUTS = {**ATTENTION_INPUTS, "inputs": normal(B, T, 3)}
WITHOUT_STATE = {
    k: x for k, x in DECODER_INPUTS.items() if k != "initial_state"
}
HEAD_INPUTS = {
    "features": normal(B, T, 3),
    "decoded_hidden": normal(B, T, 5),
    "decoded_state": normal(B, T, 5),
    "decoded_context": normal(B, T, 6),
    "decoded_inputs": normal(B, T, 3),
    "decoded_attention": np.log(np.full((B, T, S), 1 / S, "float32")),
    "annotations": normal(B, S, 6),
    "source_mask": MASK,
}


SLOTS = np.zeros((B, S, 2), "int32")
SLOTS[0, 0], SLOTS[0, 1, 0], SLOTS[1, 0, 0] = [1, 2], 2, 1
# Two definitions of the first slot and one of the second.
FLAT_DEFINITIONS = {
    "ids": np.array([4, 5, 6, 7], "int32"),
    "owners": np.array([1, 1, 1, 2], "int32"),
    "weights": np.array([0.5, 0.5, 1.0, 1.0], "float32"),
    "counts": np.array([0.0, 2.0, 1.0], "float32"),
}
PADDED_DEFINITIONS = {
    "ids": np.array([[4, 5], [3, 0], [1, 0]], "int32"),
    "owners": np.array([1, 1, 2], "int32"),
    "weights": np.array([1.0, 1.0, 1.0], "float32"),
    "counts": np.array([0.0, 2.0, 1.0], "float32"),
}


def attention():
    return layers.BahdanauAttention(4, use_bias=True)


def of_cell(kind, *arguments, attention=attention, **options):
    """A function that makes a decoder of a cell."""
    return lambda: layers.Decoder(kind(*arguments, attention(), **options))


def parts_of(*names):
    """Inputs of a readout."""
    names = [f"decoded_{name}" for name in names]
    return {name: HEAD_INPUTS[name] for name in names}


TWO_LAYERS = {**DECODER_INPUTS, "initial_state": normal(B, 10)}
# Name: a function that makes the layer, and its inputs.
LAYERS = {
    "attentional_gru_cell": (
        of_cell(layers.AttentionalGRUCell, 5),
        DECODER_INPUTS,
    ),
    "bahdanau_attention": (attention, ATTENTION_INPUTS),
    "bidirectional_gru": (lambda: layers.BidirectionalGRU(5), SEQUENCES),
    "bidirectional_gru_reset_before": (
        lambda: layers.BidirectionalGRU(5, reset_after=False),
        SEQUENCES,
    ),
    "bidirectional_lstm": (lambda: layers.BidirectionalLSTM(5), SEQUENCES),
    **{
        f"{name}_head": (
            functools.partial(getattr(layers, kind), V),
            HEAD_INPUTS,
        )
        for name, kind in HEADS.items()
    },
    "copynet_head_of_given_scores": (
        lambda: layers.CopyNetHead(V),
        {**HEAD_INPUTS, "decoded_copy_scores": 2 * normal(B, T, S)},
    ),
    "biscale_gru_cell": (of_cell(layers.BiscaleGRUCell, 5), TWO_LAYERS),
    "coverage_attention": (
        lambda: layers.CoverageAttention(4, use_bias=True),
        ATTENTION_INPUTS,
    ),
    "coverage_attention_scalar": (
        lambda: layers.CoverageAttention(
            4, use_score_bias=False, feature="scalar"
        ),
        ATTENTION_INPUTS,
    ),
    "decoder": (of_cell(layers.ConditionalGRUCell, 5), DECODER_INPUTS),
    "deep_output": (
        lambda: layers.DeepOutput(4, dropout=0.5, seed=3),
        parts_of("hidden", "inputs", "context"),
    ),
    "final_context": (
        of_cell(layers.AttentionalGRUCell, 5, attention=layers.FinalContext),
        DECODER_INPUTS,
    ),
    "initial_state": (
        lambda: MeanInitialState(5),
        {"annotations": normal(B, S, 6), "mask": MASK},
    ),
    "input_feeding_lstm_cell": (
        of_cell(
            layers.InputFeedingLSTMCell,
            5,
            attention=lambda: layers.CoverageAttention(4),
        ),
        TWO_LAYERS,
    ),
    "multi_head_attention": (
        lambda: layers.MultiHeadAttention(4, 2),
        ATTENTION_INPUTS,
    ),
    "multi_head_coverage_attention": (
        lambda: layers.MultiHeadCoverageAttention(4, 2),
        ATTENTION_INPUTS,
    ),
    "noisy_tanh": (
        lambda: layers.NoisyTanh(alpha=1.1, scale=0.3, seed=5),
        {"x": 4 * normal(B, T, 5)},
    ),
    "padding_mask": (PaddingMask, {"ids": SOURCE_IDS}),
    "plan_attention": (
        lambda: layers.PlanAttention(4, plan_steps=3, summary_units=2),
        PLAN_INPUTS,
    ),
    "plan_attention_repeat": (
        lambda: layers.PlanAttention(
            4, plan_steps=3, summary_units=2, mode="repeat", layer_norm=True
        ),
        PLAN_INPUTS,
    ),
    "pointer_softmax_head_separate": (
        lambda: layers.PointerSoftmaxHead(V, 4, "relu", pointer="separate"),
        HEAD_INPUTS,
    ),
    "output_projection": (
        lambda: layers.OutputProjection(4, dropout=0.5, seed=3),
        parts_of("hidden", "context"),
    ),
    "position_one_hot": (
        lambda: layers.PositionOneHot(layers.BidirectionalGRU(5), 3),
        SEQUENCES,
    ),
    "readout": (
        lambda: layers.Readout(("hidden", "context")),
        parts_of("hidden", "context"),
    ),
    "selective_read_gru_cell": (
        of_cell(layers.SelectiveReadGRUCell, 5),
        DECODER_INPUTS,
    ),
    "state_reduction": (
        lambda: layers.StateReduction(5),
        {"annotations": normal(B, S, 6), "mask": MASK, "final": normal(B, 12)},
    ),
    "teacher_forcing": (
        lambda: TeacherForcing(V),
        {k: BATCH[k] for k in ("target_ids", "source_copy_ids")},
    ),
    "transformer_annotations": (
        lambda: layers.TransformerAnnotations(6, 1, 2),
        SEQUENCES,
    ),
    "transformer_cell": (
        lambda: layers.Decoder(
            layers.TransformerCell(
                8,
                layers.MultiHeadCoverageAttention(4, 2),
                num_layers=1,
                num_heads=2,
                feedforward_units=4,
                positions="rotary",
            )
        ),
        WITHOUT_STATE,
    ),
    "transformer_cell_normalized_last": (
        lambda: layers.Decoder(
            layers.TransformerCell(
                8,
                layers.MultiHeadAttention(4, 2),
                num_layers=1,
                num_heads=2,
                normalize_first=False,
                positions="learned",
            )
        ),
        WITHOUT_STATE,
    ),
    "two_layer_gru_cell": (
        lambda: layers.Decoder(
            layers.TwoLayerGRUCell(
                5,
                layers.PlanAttention(4, mode="repeat", plan_steps=3),
                layer_norm=True,
            )
        ),
        TWO_LAYERS,
    ),
    "word_gru": (lambda: WordGRU(9, 3, 5), {"ids": SOURCE_IDS, "mask": MASK}),
    "coattention": (
        layers.Coattention,
        {
            "context": normal(B, S, 3),
            "question": normal(B, T, 3),
            "context_mask": MASK,
            "question_mask": MASK[:, :T],
        },
    ),
    "definition_embedding": (
        lambda: FlatEmbedding(
            layers.DefinitionEmbedding(
                9,
                6,
                spelling={"characters": 6, "units": 3},
                combine="transform",
            )
        ),
        {
            "context": SOURCE_IDS,
            "question": TARGET_IDS % V,
            "context_slots": SLOTS,
            "question_slots": SLOTS[:, :T],
            **FLAT_DEFINITIONS,
            "context_words": SLOTS[..., 0],
            "question_words": SLOTS[:, :T, 0],
            "spellings": np.array([[0, 0], [3, 2], [1, 5]], "int32"),
        },
    ),
    "forward_lstm": (lambda: layers.ForwardLSTM(5), SEQUENCES),
    "lstm_reader": (
        lambda: FlatReader(layers.LSTMReader(5, num_buckets=2)),
        {"table": normal(9, 3), **PADDED_DEFINITIONS},
    ),
    "masked_pooling": (layers.MaskedPooling, SEQUENCES),
    "mean_reader": (
        lambda: FlatReader(layers.MeanReader(5)),
        {"table": normal(9, 3), **FLAT_DEFINITIONS},
    ),
    "recurrent_reader": (
        lambda: FlatReader(layers.RecurrentReader(layers.ForwardLSTM(5))),
        {"table": normal(9, 3), **PADDED_DEFINITIONS},
    ),
    "soft_alignment": (
        layers.SoftAlignment,
        {
            "premise": normal(B, S, 3),
            "hypothesis": normal(B, T, 3),
            "premise_mask": MASK,
            "hypothesis_mask": MASK[:, :T],
        },
    ),
    "span_head": (lambda: layers.SpanHead(5), SEQUENCES),
    "word_combination": (
        lambda: FlatCombination(layers.WordCombination("transform")),
        {
            "ids": SOURCE_IDS,
            "word": normal(B, S, 3),
            "definitions": normal(B, S, 5),
            "spellings": normal(B, S, 6),
        },
    ),
}
