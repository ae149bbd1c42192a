"""Checkpoints of others compute what plain NumPy does, or say why not."""

import json
import struct

import h5py
import ml_dtypes
import numpy as np
import pytest
from keras import ops
from safetensors.numpy import save_file

from tests import helpers
from tests.serving import checkpoints
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.layers.copying import marginal_log_likelihood
from tfcopy.models import from_backbone
from tfcopy.serving import published_network

APART = {"share_encoder_decoder_embeddings": False}
CONFIGS = {
    "tied": checkpoints.MARIAN,
    "apart": {**checkpoints.MARIAN, **APART},
    "untied": {**checkpoints.MARIAN, **APART, "tie_word_embeddings": False},
    "m2m100": checkpoints.M2M100,
}
SOURCE, TARGET = [5, 7, 3, 0], [11, 4, 9]


def run(checkpoint):
    inputs = {"encoder_token_ids": [SOURCE], "decoder_token_ids": [TARGET]}
    inputs = {name: np.array(x) for name, x in inputs.items()}
    for side in ("encoder", "decoder"):
        ids = inputs[f"{side}_token_ids"]
        inputs[f"{side}_padding_mask"] = np.ones_like(ids)
    outputs = checkpoint.backbone(inputs)["decoder_sequence_output"]
    table = checkpoint.backbone.decoder_token_embedding
    return table(outputs, reverse=True)[0] + checkpoint.logit_bias


@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_are_those_of_the_checkpoint(kind, tmp_path):
    config = CONFIGS[kind]
    weights = checkpoints.make_weights(config)
    checkpoint = published_network.load(
        checkpoints.write(tmp_path, config, weights)
    )
    expected = checkpoints.compute_logits(config, weights, SOURCE, TARGET)
    helpers.assert_close(run(checkpoint), expected, atol=1e-5)


@pytest.mark.parametrize(
    "special_ids, start, num_beams, static",
    [((1, 3, 2, 2), None, 1, False), ((1, 3, 8, 2), 2, 3, True)],
)
def test_a_search_steps_through_the_same_network(
    special_ids, start, num_beams, static, tmp_path
):
    """Steps with caches give the log-probabilities of whole targets."""
    config = checkpoints.M2M100
    weights = checkpoints.make_weights(config)
    folder = checkpoints.write(tmp_path, config, weights)
    backbone = published_network.load(folder).backbone
    options = {"special_ids": special_ids, "start": start, "normalize": True}
    model = from_backbone(backbone, head="softmax", **options)
    source, target = np.array([[4, 6, 3]], "int32"), [5, 7]
    rows = [*special_ids, *sorted({*range(12)} - {*special_ids})]
    first = [] if start is None else [start]
    first += [rows[x] for x in (2, *target)]
    expected = checkpoints.compute_logits(
        config, weights, [rows[x] for x in source[0]], first
    )[-3:]
    options = SearchOptions(num_beams, max_length=3, static_shapes=static)
    prefix = np.array([target], "int32")
    result = beam_search(model, source, source, options, prefix=prefix)
    expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    ids = helpers.to_numpy(result.ids)[0, 0]
    score = sum(expected[i, rows[x]] for i, x in enumerate(ids))
    helpers.assert_close(result.scores[0, 0], score, atol=1e-5)
    batch = {"source_ids": source, "source_copy_ids": source}
    distribution = model({**batch, "target_ids": ids[None]})
    log_probs = marginal_log_likelihood(distribution, ids[None], source)
    helpers.assert_close(ops.sum(log_probs), score, atol=1e-5)


def test_it_points_with_the_last_cross_attention(tmp_path):
    weights = checkpoints.make_weights(checkpoints.MARIAN)
    folder = checkpoints.write(tmp_path, checkpoints.MARIAN, weights)
    model = from_backbone(published_network.load(folder).backbone)
    published_network.point_as_network(model)
    attention = model.cell.attention
    for ours, theirs in (
        (attention.value_projection.kernel, "k_proj.weight"),
        (attention.query_kernel, "q_proj.weight"),
        (attention.query_bias, "q_proj.bias"),
    ):
        theirs = weights[f"model.decoder.layers.0.encoder_attn.{theirs}"]
        helpers.assert_close(ours, theirs.T)


def test_copies_of_a_shared_table_may_be_stored(tmp_path):
    weights = checkpoints.make_weights(checkpoints.MARIAN)
    table = weights["model.shared.weight"]
    copies = "model.encoder.embed_tokens.weight", "lm_head.weight"
    more = {**weights, **dict.fromkeys(copies, table)}
    folder = checkpoints.write(tmp_path, checkpoints.MARIAN, more)
    expected = checkpoints.compute_logits(
        checkpoints.MARIAN, weights, SOURCE, TARGET
    )
    actual = run(published_network.load(folder))
    helpers.assert_close(actual, expected, atol=1e-5)
    more["lm_head.weight"] = table + 1
    checkpoints.write(tmp_path, checkpoints.MARIAN, more)
    with pytest.raises(ValueError, match="lm_head.weight: expected the same"):
        published_network.load(folder)


def test_halves_are_read(tmp_path):
    for kind in ("float16", ml_dtypes.bfloat16):
        values = np.array([[1.5, -2.0]], kind)
        save_file({"x": values}, tmp_path / "model.safetensors")
        arrays = published_network.CheckpointArrays(tmp_path)
        assert arrays.take("x", (1, 2)).tolist() == [[1.5, -2.0]]


def test_weights_of_tensorflow_are_read(tmp_path):
    weights = checkpoints.make_weights(checkpoints.MARIAN)
    checkpoints.write(tmp_path, checkpoints.MARIAN, weights)
    (tmp_path / "model.safetensors").unlink()
    prefix = "model/tf_marian_mt_model/model"
    with h5py.File(tmp_path / "tf_model.h5", "w") as file:
        for name, x in weights.items():
            *place, kind = name.split(".")
            place = "/".join(place[1:]).replace("layers/", "layers.")
            if "norm" in name:
                kind = {"weight": "gamma", "bias": "beta"}[kind]
            elif kind == "weight" and "shared" not in name:
                kind, x = "kernel", x.T
            place = f"{prefix}/{place}/{kind}:0"
            if "shared" in name:
                place = "model/model.shared/shared/weight:0"
            if "logits" in name:
                place = "final_logits_bias/final_logits_bias:0"
            file[place] = x
    actual = run(published_network.load(tmp_path))
    expected = checkpoints.compute_logits(
        checkpoints.MARIAN, weights, SOURCE, TARGET
    )
    helpers.assert_close(actual, expected, atol=1e-5)


def test_weights_must_be_finite(tmp_path):
    weights = checkpoints.make_weights(checkpoints.MARIAN)
    weights["model.decoder.layers.0.fc1.bias"][3] = np.nan
    checkpoints.write(tmp_path, checkpoints.MARIAN, weights)
    with pytest.raises(ValueError, match="safetensors: .*bias is finite"):
        published_network.load(tmp_path)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"model_type": "t5"}, "model_type must be one of marian, m2m_100"),
        ({"activation_function": "mish"}, "activation_function must be"),
        ({"encoder_layers": "2"}, '"encoder_layers" must be an integer'),
        ({"encoder_layers": 0}, "encoder_layers must be from 1 to"),
        ({"encoder_layers": 1 << 20}, "expected at least .* weights"),
        ({"vocab_size": 1 << 24}, "expected at least .* weights"),
        ({"decoder_ffn_dim": 8}, "decoder_ffn_dim must be the same"),
        ({"normalize_before": True}, "normalize_before must be false"),
        ({"eos_token_id": 12}, "eos_token_id must be a row of 12"),
        ({"d_model": 9}, "d_model must be a multiple"),
        ({"encoder_layers": 3}, "no weight 'model.encoder.layers.2.self"),
        ({"encoder_layers": 1}, "16 weights are of no use"),
        ({"vocab_size": 13}, r"expected the shape \(13, 8\)"),
        ({"scale_embedding": None}, 'has no "scale_embedding"'),
        ({"max_position_embeddings": 1}, "embeddings must be from 2 to"),
        ({"decoder_vocab_size": 1 << 40}, "decoder_vocab_size must be from 0"),
        ({"decoder_start_token_id": 5}, "must be the padding or the end"),
        ({"dropout": float("nan")}, "dropout must be from 0"),
    ],
)
def test_a_config_that_does_not_fit_is_named(changes, reason, tmp_path):
    weights = checkpoints.make_weights(checkpoints.MARIAN)
    checkpoints.write(tmp_path, {**checkpoints.MARIAN, **changes}, weights)
    with pytest.raises(ValueError, match=reason) as error:
        published_network.load(tmp_path)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


FACTS = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}


@pytest.mark.parametrize(
    "header",
    [
        {"x": {**FACTS, "shape": [3, 2]}},
        {"x": {**FACTS, "shape": [-2, -2]}},
        {"x": {**FACTS, "shape": [1 << 40, 1 << 40]}},
        {"x": {**FACTS, "data_offsets": [8, 24]}},
        {"x": {**FACTS, "data_offsets": None}},
        {"x": FACTS, "y": FACTS},
        {"x": {**FACTS, "shape": [2], "data_offsets": [0, 8]}},
        None,
        "[" * 200_000,
    ],
)
def test_headers_are_not_believed(header, tmp_path):
    text = header if isinstance(header, str) else json.dumps(header)
    size = struct.pack("<Q", len(text))
    path = tmp_path / "model.safetensors"
    for content in (size + text.encode() + bytes(16), b"\xff" * 8, b""):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="safetensors: not readable"):
            published_network.CheckpointArrays(tmp_path)


def test_integers_are_no_weights(tmp_path):
    save_file({"x": np.arange(3)}, tmp_path / "model.safetensors")
    arrays = published_network.CheckpointArrays(tmp_path)
    with pytest.raises(ValueError, match="safetensors, x: the type int64"):
        arrays.take("x", (3,))


@pytest.mark.parametrize(
    "facts",
    [
        {"shape": 1 << 40, "chunks": 1024, "dtype": "f4"},
        {"shape": 8, "dtype": "f4", "external": [("config.json", 0, 32)]},
        {"shape": 8, "dtype": h5py.ref_dtype},
    ],
)
def test_hdf5_is_not_believed(facts, tmp_path):
    with h5py.File(tmp_path / "tf_model.h5", "w") as file:
        file.create_dataset("x", **facts)
    with pytest.raises(ValueError, match="tf_model.h5: not readable .x is no"):
        published_network.CheckpointArrays(tmp_path)


def test_a_pickle_is_not_opened(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n")
    with pytest.raises(ValueError, match="may run code"):
        published_network.CheckpointArrays(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    for text, reason in (
        ('{"weight_map": {"x": "../other.safetensors"}}', "no name of a file"),
        ('{"weight_map": {"x": 1}}', 'weight_map.x" must be'),
        ('{"weight_map": {"x": "a"}}', "'a' is no name of a file"),
        ("[" * 200_000, "nested too deep"),
    ):
        index.write_text(text)
        with pytest.raises(ValueError, match=reason):
            published_network.CheckpointArrays(tmp_path)
