"""Small checkpoints in Hugging Face's format, and what they compute."""

import json

import numpy as np
import sentencepiece
from safetensors.numpy import save_file

from tests.data.text.hub_tokenizers import train_sentencepiece
from tfcopy.serving import opus_mt

ROWS, UNITS, HEADS, INNER = 12, 8, 2, 12
MARIAN = {
    "model_type": "marian",
    "d_model": UNITS,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": INNER,
    "decoder_ffn_dim": INNER,
    "max_position_embeddings": 16,
    "vocab_size": ROWS,
    "pad_token_id": ROWS - 1,
    "eos_token_id": 0,
    "decoder_start_token_id": ROWS - 1,
    "activation_function": "swish",
    "scale_embedding": True,
}
M2M100 = {
    **MARIAN,
    **{"model_type": "m2m_100", "activation_function": "relu"},
    **{"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2},
}


def make_weights(config, seed=0):
    """Random arrays by the names of transformers."""
    rng = np.random.default_rng(seed)
    units, inner, rows = config["d_model"], INNER, config["vocab_size"]
    shapes = {}
    for side in ("encoder", "decoder"):
        for i in range(config[f"{side}_layers"]):
            place = f"model.{side}.layers.{i}"
            for kind in ["self_attn", *["encoder_attn"] * (side == "decoder")]:
                for part in "qkv":
                    shapes[f"{place}.{kind}.{part}_proj"] = (units, units)
                shapes[f"{place}.{kind}.out_proj"] = (units, units)
                shapes[f"{place}.{kind}_layer_norm"] = (units,)
            shapes[f"{place}.fc1"] = (inner, units)
            shapes[f"{place}.fc2"] = (units, inner)
            shapes[f"{place}.final_layer_norm"] = (units,)
        if config["model_type"] == "m2m_100":
            shapes[f"model.{side}.layer_norm"] = (units,)
    weights = {}
    for name, shape in shapes.items():
        weights[f"{name}.weight"] = rng.normal(size=shape) * 0.3
        weights[f"{name}.bias"] = rng.normal(size=shape[:1]) * 0.1
        if len(shape) == 1:
            weights[f"{name}.weight"] += 1
    tables = ["model.shared"]
    if not config.get("share_encoder_decoder_embeddings", True):
        tables = [f"model.{x}.embed_tokens" for x in ("encoder", "decoder")]
    if not config.get("tie_word_embeddings", True):
        tables.append("lm_head")
    for name in tables:
        weights[f"{name}.weight"] = rng.normal(size=(rows, units)) * 0.3
    if config["model_type"] == "marian":
        weights["final_logits_bias"] = rng.normal(size=(1, rows))
    return {name: x.astype("float32") for name, x in weights.items()}


def write(folder, config, weights):
    """Writes `config.json` and `model.safetensors`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


def compute_logits(config, weights, source, target):
    """The logits of one source and one target, by plain NumPy."""
    is_marian = config["model_type"] == "marian"
    activate = {
        "swish": lambda x: x / (1 + np.exp(-x)),
        "relu": lambda x: np.maximum(x, 0),
    }[config["activation_function"]]

    def dense(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def attend(x, rows, name, causal=False):
        queries, keys, values = (
            dense(y, f"{name}.{part}_proj").reshape(len(y), HEADS, -1)
            for y, part in ((x, "q"), (rows, "k"), (rows, "v"))
        )
        scores = np.einsum("qhd,khd->hqk", queries, keys)
        scores /= np.sqrt(queries.shape[2])
        if causal:
            scores += np.triu(np.full(scores.shape[1:], -1e9), 1)
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        scores /= scores.sum(axis=2, keepdims=True)
        read = np.einsum("hqk,khd->qhd", scores, values)
        return dense(read.reshape(len(x), -1), f"{name}.out_proj")

    def add(x, sublayer, name):
        if is_marian:
            return norm(x + sublayer(x), name)
        return x + sublayer(norm(x, name))

    def run(side, ids, annotations=None):
        shared = weights.get("model.shared.weight")
        table = weights.get(f"model.{side}.embed_tokens.weight", shared)
        half = UNITS // 2
        waves = 10000 ** (-np.arange(half) / (half - (not is_marian)))
        angles = np.arange(len(ids))[:, None] + (0 if is_marian else 2)
        angles = angles * waves
        x = table[ids] * UNITS**0.5
        x = x + np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        for i in range(config[f"{side}_layers"]):
            place = f"model.{side}.layers.{i}"
            causal = annotations is not None
            x = add(
                x,
                lambda y: attend(y, y, f"{place}.self_attn", causal),
                f"{place}.self_attn_layer_norm",
            )
            if causal:
                x = add(
                    x,
                    lambda y: attend(y, annotations, f"{place}.encoder_attn"),
                    f"{place}.encoder_attn_layer_norm",
                )
            x = add(
                x,
                lambda y: dense(
                    activate(dense(y, f"{place}.fc1")), f"{place}.fc2"
                ),
                f"{place}.final_layer_norm",
            )
        return x if is_marian else norm(x, f"model.{side}.layer_norm")

    hidden = run("decoder", target, run("encoder", source))
    names = "lm_head", "model.decoder.embed_tokens", "model.shared"
    tables = (weights.get(f"{name}.weight") for name in names)
    table = next(x for x in tables if x is not None)
    bias = weights.get("final_logits_bias", np.zeros((1, len(table))))
    return hidden @ table.T + bias[0]


def write_tokens(folder, more=()):
    """Writes the models of SentencePiece and `vocab.json` of a checkpoint."""
    ids = {"</s>": 0, "<unk>": 1, **{x: i for i, x in enumerate(more, 2)}}
    for side in ("source", "target"):
        model = train_sentencepiece(
            45, "unigram", normalization_rule_name="nmt_nfkc"
        )
        (folder / f"{side}.spm").write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        for i in range(3, len(processor) - 1):  # not its last piece
            ids.setdefault(processor.id_to_piece(i), len(ids))
    ids["<pad>"] = len(ids)
    (folder / "vocab.json").write_text(json.dumps(ids))
    return folder


def write_m2m_100(folder, kind="M2M100", **changes):
    """Writes a checkpoint of a kind of tokenizer; returns config, weights."""
    model = train_sentencepiece(45, normalization_rule_name="nmt_nfkc")
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces += processor.id_to_piece([*range(3, len(processor))])
    if kind == "NLLB":
        codes = enumerate(("deu_Latn", "eng_Latn", "fra_Latn"), len(pieces))
        added = [{"id": i, "content": x} for i, x in codes]
        files = {"tokenizer.json": {"added_tokens": added}}
    else:
        files = {"vocab.json": {x: i for i, x in enumerate(pieces[:-1])}}
        kind = {"tokenizer_class": f"{kind}Tokenizer"}
        files["tokenizer_config.json"] = kind
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    config = {**M2M100, "max_position_embeddings": 64, "num_beams": 2}
    config |= {"vocab_size": len(pieces) + 105, **changes}
    weights = make_weights(config)
    write(folder, config, weights)
    return config, weights


def write_marian(folder, seed=0, more=(), **changes):
    """Writes a whole checkpoint of Marian; returns config and weights."""
    write_tokens(folder, more)
    size = len(json.loads((folder / "vocab.json").read_text()))
    ids = {"vocab_size": size, "pad_token_id": size - 1}
    ids["decoder_start_token_id"] = size - 1
    config = {**MARIAN, **ids, "num_beams": 2, **changes}
    weights = make_weights(config, seed)
    write(folder, config, weights)
    return config, weights


def write_opus(folder, old="", new=""):
    """Writes a checkpoint in both formats, and a change into that of OPUS-MT.

    Returns the folders of Hugging Face's format and of OPUS-MT's.
    """
    hub, opus = folder / "hub", folder / "opus"
    hub.mkdir(), opus.mkdir()
    config, weights = write_marian(hub, more=["01", "\x85", 'q"\\x'])
    table, bias = weights["model.shared.weight"], weights["final_logits_bias"]
    table[-1] = bias[0, -1] = 0  # Marian has no padding.
    write(hub, config, weights)
    arrays = {"Wemb": table[:-1], "decoder_ff_logit_out_b": bias[:, :-1]}
    names = {y: x for x, y in opus_mt.FORMAT["layers"].items()}
    for name in set(weights) - {"model.shared.weight", "final_logits_bias"}:
        _, side, _, i, rest = name.split(".", 4)
        place = f"{side}_l{int(i) + 1}_{names[rest]}"
        arrays[place] = np.atleast_2d(weights[name].T)
    text = f"""type: transformer\ndim-emb: {UNITS}\nenc-depth: 2\ndec-depth: 1
transformer-dim-ffn: {INNER}\ntransformer-heads: {HEADS}\nright-left: false
transformer-ffn-activation: swish\ntransformer-postprocess: dan\n\0"""
    data = np.frombuffer(text.replace(old, new).encode(), "uint8")
    np.savez(opus / "a.npz", **arrays, **{"special:model.yml": data})
    text = "models:\n  - a.npz\nvocabs:\n  - a.yml\n  - a.yml\nbeam-size: 2\n"
    (opus / "decoder.yml").write_text(f"{text}normalize: 1".replace(old, new))
    pieces = [*json.loads((hub / "vocab.json").read_text())][:-1]
    text = "".join(f"{json.dumps(x)}: {i}\n" for i, x in enumerate(pieces))
    text = text.replace('"01"', "01").replace("\\u00", "\\x").replace(old, new)
    (opus / "a.yml").write_text(text)
    return hub, opus
