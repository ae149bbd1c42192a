"""Defaults of the arguments of the public layers and models.

Others' code depends on them: a new default is written down here, too.
"""

import inspect

from tfcopy import layers, models

# An argument has one default wherever it occurs, but in `OWN`.
DEFAULTS = """
activation='relu' alpha=1.15 always_replan=False attention=None
attention_units=None bias_initializer='zeros' bidirectional_encoder=False
candidates=False combine='sum' coverage=False coverage_enabled=True
decode_initial_attention=False decoder='gru' decoder_options=None
deep_readout=False definition_embeddings=None definition_vocabulary_size=None
dropout=0.0 embedding_dim=150 embeddings=None embeddings_initializer='uniform'
enabled=True encoder='gru' encoder_heads=4 encoder_layers=2 encoder_units=None
feature='vector' feedforward_units=None half_normal=True
head='pointer_generator' head_units=None initializers='keras'
input_initializer='glorot_uniform' input_units=None inverse_temperature=None
kernel_initializer='glorot_uniform' layer_norm=False linear_units=None
lora_rank=None lstm=None mode='plan' name='perplexity' normalize=False
normalize_first=True num_buckets=4 num_heads=4 num_labels=3 num_layers=2
num_positions=512 output_units=None parts=('hidden',) plan_steps=10
planner_layer_norm=False pointer='attention' pointing='heads'
position_one_hot=0 positions=57 preprocessor=None query='both' reader='mean'
reads_words=False recurrent_initializer='orthogonal' resample=False
reset_after=True sample_at_test=False scale=0.5 seed=None share_encoders=False
source_embedding=None special_ids=None spelling=None stop_gradient=False
summary_units=64 switch='previous' switch_activation='noisy_tanh'
switch_bias=0.0 switch_initializer='glorot_uniform' switch_units=None
system='copynet' temperature=1.0 tied=False trainable=None
unit_forget_bias=False units=300 use_bias=False use_gate=True
use_score_bias=None vocabulary_size=None
"""
OWN = """
BidirectionalLSTM unit_forget_bias=True
PlanAttention reads_words=True use_bias=True
PointerSoftmaxHead switch_bias=1.0
StateReduction parts=2
TransformerCell positions='sinusoidal'
MarianBackbone activation='silu' decoder_vocabulary_size=None dropout=0.1
    dtype=None max_sequence_length=512 normalize_first=False
    num_decoder_layers=None
    scale_embedding=True tie_weights=True
CopyCausalLM normalize=True num_heads=None
CopySeq2SeqLM normalize=True num_heads=None
coattention dropout=0.2 kernel_initializer='uniform'
    recurrent_initializer='uniform' units=200
copynet head=None
esim dropout=0.5 recurrent_initializer='glorot_uniform'
from_backbone num_heads=None start=None
translator embedding_dim=512 head='pointer_softmax' units=1024
lstm_language_model kernel_initializer='uniform'
    recurrent_initializer='uniform' units=500
planner decoder='biscale' embedding_dim=600 head='softmax' system='pag'
    units=600
pointer_generator decoder='lstm' embedding_dim=128 encoder='lstm' units=256
"""


def arguments(public):
    """The arguments of a class or a function."""
    # Of a class that inherits its `__init__`, Python 3.11.2 shows `__new__`.
    own = (
        vars(x)["__init__"]
        for x in getattr(public, "__mro__", ())
        if "__init__" in vars(x) and x.__module__.startswith("tfcopy.")
    )
    return inspect.signature(next(own, public)).parameters.values()


def defaults(public):
    """The arguments that have a default."""
    return {
        f"{x.name}={x.default!r}"
        for x in arguments(public)
        if x.default is not x.empty
    }


def test_an_argument_has_a_type():
    untyped = [
        f"{name}.{x.name}"
        for module in (layers, models)
        for name in module.__all__
        for x in arguments(getattr(module, name))
        if x.annotation is x.empty and x.name != "self"
        if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)
    ]
    assert untyped == []


def test_an_argument_has_one_default_but_where_it_is_said():
    found = {
        name: defaults(getattr(module, name))
        for module in (layers, models)
        for name in module.__all__
    }
    common = {*DEFAULTS.split()}
    own = {k: sorted(x - common) for k, x in found.items() if x - common}
    lines = OWN.replace("\n    ", " ").strip().splitlines()
    assert own == {name: x for name, *x in map(str.split, lines)}
    assert common <= set().union(*found.values())
