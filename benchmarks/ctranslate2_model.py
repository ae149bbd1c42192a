"""Writes a Transformer of ours as a model of CTranslate2: the same weights.

Not a benchmark itself. CTranslate2 knows the Transformer of Vaswani et al. with
a softmax alone, so that the model must read its words from the hidden state
(`Readout`) and not from a deep output. What it does to the embedding of a word
before the positions are added, a projection and a normalisation, depends on the
word alone, and is written as that word's embedding.

Shapes: V words, U units.
"""

import os

import numpy as np
from ctranslate2 import specs

from tfcopy import tokens
from tfcopy.layers.cells.transformer_cell import sinusoids
from tfcopy.layers.tensors import cast_norms, normalize

LONGEST = 256  # positions


def write(model, vocabularies, folder, precision):
    """Writes a folder that `ctranslate2.Translator` opens.

    Args:
        model: `Seq2Seq` with Transformers on both sides and `SoftmaxHead`.
        vocabularies: Words in the order of their ids, of source and target.
        folder: A folder; files of earlier models are replaced.
        precision: `"float32"` or `"int8"`.
    """
    encoder, cell = model.encoder, model.cell
    layers = len(encoder.blocks), len(cell.blocks)
    if layers[0] != layers[1]:
        raise ValueError(f"The sides have {layers} blocks, not as many.")
    spec = specs.TransformerSpec.from_config(
        layers[0], cell.num_heads, pre_norm=True
    )
    _read(spec.encoder, encoder, model.source_embedding)
    _decode(spec.decoder, cell, model.target_embedding, model.head)
    source, target = vocabularies
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    names = ("unk_token", "bos_token", "eos_token")
    for name, word in zip(names, tokens.SPECIAL_TOKENS[1:]):
        setattr(spec.config, name, word)
    spec.validate()
    spec.optimize(None if precision == "float32" else precision)
    os.makedirs(folder, exist_ok=True)
    spec.save(folder)


def _read(spec, encoder, embedding):
    words = encoder.input_norm(encoder.projection(embedding.embeddings))
    positions = encoder.positions(np.zeros((1, LONGEST, encoder.units), "f4"))
    _embed(spec, spec.embeddings[0], words, positions[0])
    _norm(spec.layer_norm, encoder.norm)
    for part, block in zip(spec.layer, encoder.blocks):
        # KerasHub's layers, (U, H, d) and (H, d, U).
        attention = block._self_attention_layer
        projections = [
            getattr(attention, f"_{name}_dense")
            for name in ("query", "key", "value")
        ]
        _linear(
            part.self_attention.linear[0],
            [x.kernel for x in projections],
            [x.bias for x in projections],
        )
        last = attention._output_dense
        kernel = np.reshape(last.kernel, (-1, encoder.units))
        _linear(part.self_attention.linear[1], [kernel], [last.bias])
        _norm(part.self_attention.layer_norm, block._self_attention_layer_norm)
        _norm(part.ffn.layer_norm, block._feedforward_layer_norm)
        for name, dense in (
            ("linear_0", block._feedforward_intermediate_dense),
            ("linear_1", block._feedforward_output_dense),
        ):
            _linear(getattr(part.ffn, name), [dense.kernel], [dense.bias])


def _decode(spec, cell, embedding, head):
    table = np.array(embedding.embeddings)
    norms = cast_norms(cell.norms)
    words = table @ np.array(cell.input_kernel) + np.array(cell.input_bias)
    words = normalize(words, norms["input"])
    positions = sinusoids(np.arange(LONGEST, dtype="int32"), cell.units)
    _embed(spec, spec.embeddings, words, positions)
    _give(spec.layer_norm, *norms["output"])
    kernel = table.T if head.tied else head.kernel
    _linear(spec.projection, [kernel], [head.bias])
    for part, block in zip(spec.layer, cell.blocks):
        norms = cast_norms(block.norms)
        own, source = part.self_attention, part.attention
        for linear, name in (
            (own.linear[0], "self_query_key_value"),
            (own.linear[1], "self_output"),
            (source.linear[0], "cross_query"),
            (source.linear[1], "cross_key_value"),
            (source.linear[2], "cross_output"),
            (part.ffn.linear_0, "feedforward_hidden"),
            (part.ffn.linear_1, "feedforward_output"),
        ):
            kernel, bias = block.products[name]
            _linear(linear, [kernel], [bias])
        for layer, name in (
            (own.layer_norm, "self"),
            (source.layer_norm, "cross"),
            (part.ffn.layer_norm, "feedforward"),
        ):
            _give(layer, *norms[name])


def _embed(spec, embeddings, table, positions):
    embeddings.weight = np.array(table, "float32")
    spec.scale_embeddings = False
    spec.position_encodings.encodings = np.array(positions, "float32")


def _linear(spec, kernels, biases):
    size = np.shape(kernels[0])[0]
    kernels = [np.reshape(x, (size, -1)).T for x in kernels]
    spec.weight = np.ascontiguousarray(np.concatenate(kernels), "float32")
    spec.bias = np.concatenate([np.reshape(x, -1) for x in biases])


def _norm(spec, layer):
    _give(spec, layer.gamma, layer.beta)


def _give(spec, gain, bias):
    spec.gamma, spec.beta = np.array(gain), np.array(bias)
