"""Arguments of the public layers and models, with their defaults.

Others' code depends on them: a new default is written down here, too.
"""

import inspect
import re

from tfcopy import layers, models

SIGNATURES = """
AttentionalGRUCell(units, attention, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', **kwargs)
BahdanauAttention(units, use_bias=False, kernel_initializer='glorot_uniform',
    use_score_bias=None, reads_words=False, **kwargs)
BidirectionalGRU(units, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', reset_after=True, **kwargs)
BidirectionalLSTM(units, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', unit_forget_bias=True, **kwargs)
BiscaleGRUCell(units, attention, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', query='both', layer_norm=False,
    **kwargs)
Coattention(**kwargs)
ConditionalGRUCell(units, attention, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', **kwargs)
CopyDistribution(generate_logits, log_generate, copy_log_probs,
    attention=None)
CopyNetHead(vocabulary_size, kernel_initializer='glorot_uniform', tied=False,
    normalize=False, **kwargs)
CoverageAttention(units, use_bias=False, kernel_initializer='glorot_uniform',
    use_score_bias=None, enabled=True, feature='vector', **kwargs)
Decoder(cell, **kwargs)
DeepOutput(units, dropout=0.0, kernel_initializer='glorot_uniform', seed=None,
    **kwargs)
DefinitionEmbedding(vocabulary_size, embedding_dim, *, reader='mean',
    definition_vocabulary_size=None, spelling=None, combine='sum',
    stop_gradient=False, dropout=0.0, embeddings=None,
    definition_embeddings=None, embeddings_initializer='uniform',
    kernel_initializer='glorot_uniform', recurrent_initializer='orthogonal',
    seed=None, **kwargs)
FinalContext(**kwargs)
ForwardLSTM(units, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', unit_forget_bias=False, **kwargs)
InputFeedingLSTMCell(units, attention, input_units=None,
    kernel_initializer='glorot_uniform', recurrent_initializer='orthogonal',
    input_initializer='glorot_uniform', decode_initial_attention=False,
    **kwargs)
LSTMReader(units, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', unit_forget_bias=False, num_buckets=4,
    **kwargs)
MaskedPooling(**kwargs)
MeanReader(linear_units=None, kernel_initializer='glorot_uniform', **kwargs)
MultiHeadAttention(units, num_heads=4, kernel_initializer='glorot_uniform',
    **kwargs)
MultiHeadCoverageAttention(units, num_heads=4,
    kernel_initializer='glorot_uniform', enabled=True, **kwargs)
NoisyTanh(alpha=1.15, scale=0.5, half_normal=True, seed=None, **kwargs)
OutputProjection(units, dropout=0.0, kernel_initializer='glorot_uniform',
    seed=None, **kwargs)
PlanAttention(units, use_bias=True, kernel_initializer='glorot_uniform',
    plan_steps=10, mode='plan', summary_units=64, use_gate=True,
    reads_words=True, switch='previous', resample=False,
    inverse_temperature=None, layer_norm=False, always_replan=False,
    sample_at_test=False, seed=None, use_score_bias=None, **kwargs)
PlannedDistribution(generate_logits, log_generate, copy_log_probs, attention,
    replan, commitment_deviation)
PointerGeneratorHead(vocabulary_size, switch_bias=0.0,
    kernel_initializer='glorot_uniform', switch_initializer='glorot_uniform',
    **kwargs)
PointerSoftmaxHead(vocabulary_size, switch_units=None,
    switch_activation='noisy_tanh', switch_bias=1.0, temperature=1.0,
    pointer='attention', kernel_initializer='glorot_uniform', seed=None,
    **kwargs)
PositionOneHot(encoder, positions=57, **kwargs)
Readout(parts=('hidden',), dropout=0.0, seed=None, **kwargs)
RecurrentReader(layer, **kwargs)
SelectiveReadGRUCell(units, attention, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', **kwargs)
SoftAlignment(**kwargs)
SoftmaxHead(vocabulary_size, kernel_initializer='glorot_uniform', tied=False,
    normalize=False, **kwargs)
SpanHead(units, dropout=0.0, kernel_initializer='glorot_uniform', seed=None,
    **kwargs)
StateReduction(units, parts=2, activation='relu',
    kernel_initializer='glorot_uniform', bias_initializer='zeros', **kwargs)
TransformerAnnotations(units, num_layers=2, num_heads=4,
    feedforward_units=None, dropout=0.0, **kwargs)
TransformerCell(units, attention, kernel_initializer='glorot_uniform',
    num_layers=2, num_heads=4, feedforward_units=None, normalize_first=True,
    positions='sinusoidal', num_positions=512, dropout=0.0, seed=None,
    **kwargs)
TwoLayerGRUCell(units, attention, kernel_initializer='glorot_uniform',
    recurrent_initializer='orthogonal', query='both', layer_norm=False,
    **kwargs)
WordCombination(combine='sum', dropout=0.0,
    kernel_initializer='glorot_uniform', seed=None, **kwargs)
CopyCausalLM(backbone, preprocessor=None, head='pointer_generator',
    pointing='heads', coverage=False, attention_units=None, num_heads=None,
    dropout=0.0, seed=None, special_ids=None, normalize=True, **kwargs)
CopyModel(*args, **kwargs)
CopySeq2SeqLM(backbone, preprocessor=None, head='pointer_generator',
    pointing='heads', coverage=False, attention_units=None, num_heads=None,
    dropout=0.0, seed=None, special_ids=None, normalize=True, **kwargs)
Perplexity(loss, name='perplexity', **kwargs)
Seq2Seq(source_embedding, encoder, initial_state, target_embedding, cell,
    deep_output, head, dropout=0.0, seed=None, candidates=False, **kwargs)
coattention(embedding, *, units=200, head_units=None,
    bidirectional_encoder=False, dropout=0.2, kernel_initializer='uniform',
    recurrent_initializer='uniform', unit_forget_bias=False, seed=None)
copynet(source_vocabulary_size, target_vocabulary_size, *, system='copynet',
    head=None, encoder='gru', encoder_layers=2, encoder_heads=4,
    decoder='gru', decoder_options=None, feedforward_units=None, tied=False,
    embedding_dim=150, units=300, attention_units=None, position_one_hot=0,
    coverage=False, deep_readout=False, dropout=0.0, initializers='keras',
    seed=None, source_embedding=None, **head_options)
definition_inputs(names, embedding)
definition_layout(embedding)
esim(embedding, *, units=300, num_labels=3, share_encoders=False, dropout=0.5,
    kernel_initializer='glorot_uniform',
    recurrent_initializer='glorot_uniform', unit_forget_bias=False, seed=None)
from_backbone(backbone, *, head='pointer_generator', vocabulary_size=None,
    special_ids=None, trainable=None, lora_rank=None, attention_units=None,
    num_heads=None, pointing='heads', coverage=False, coverage_enabled=True,
    dropout=0.0, seed=None, **head_options)
gru_translator(source_vocabulary_size, target_vocabulary_size, *,
    head='pointer_softmax', encoder='gru', encoder_layers=2, encoder_heads=4,
    decoder='gru', decoder_options=None, feedforward_units=None, tied=False,
    coverage=False, embedding_dim=512, units=1024, encoder_units=None,
    attention_units=None, output_units=None, dropout=0.0,
    initializers='keras', seed=None, source_embedding=None, **head_options)
lstm_language_model(embedding, vocabulary_size, *, units=500, lstm=None,
    dropout=0.0, kernel_initializer='uniform',
    recurrent_initializer='uniform', unit_forget_bias=False, seed=None)
planner(source_vocabulary_size, target_vocabulary_size, *, system='pag',
    encoder='gru', encoder_layers=2, encoder_heads=4, decoder='biscale',
    decoder_options=None, feedforward_units=None, tied=False, head='softmax',
    embedding_dim=600, units=600, encoder_units=None, query='both',
    plan_steps=10, summary_units=64, use_gate=True, switch='previous',
    resample=False, always_replan=False, layer_norm=False,
    planner_layer_norm=False, dropout=0.0, initializers='keras', seed=None,
    source_embedding=None, **head_options)
pointer_generator(vocabulary_size, *, head='pointer_generator',
    encoder='lstm', encoder_layers=2, encoder_heads=4, decoder='lstm',
    decoder_options=None, feedforward_units=None, tied=False, coverage=False,
    coverage_enabled=True, embedding_dim=128, units=256, attention_units=None,
    output_units=None, dropout=0.0, initializers='keras',
    decode_initial_attention=False, seed=None, source_embedding=None,
    **head_options)
"""


def signature(name, public):
    """Its arguments and their defaults, without types."""
    # Of a class that inherits its `__init__`, Python 3.11.2 shows `__new__`.
    own = (
        vars(x)["__init__"]
        for x in getattr(public, "__mro__", ())
        if "__init__" in vars(x) and x.__module__.startswith("tfcopy")
    )
    called = next(own, public)
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(called).parameters.values()
        if parameter.name != "self"
    ]
    return name + str(inspect.Signature(parameters))


def test_arguments_and_defaults_are_those_of_the_table():
    found = [
        signature(name, getattr(module, name))
        for module in (layers, models)
        for name in module.__all__
    ]
    assert found == re.sub("\n +", " ", SIGNATURES.strip()).split("\n")
