"""Checkpoints beside transformers' own: networks with random weights, tokens.

    python benchmarks/transformers_equality.py make FOLDER   # has transformers
    python -m benchmarks.transformers_equality compare FOLDER     # has tfcopy
    python benchmarks/transformers_equality.py make_tokens FOLDER TEXTS
    python -m benchmarks.transformers_equality compare_tokens FOLDER TEXTS
    python -m benchmarks.transformers_equality digest FOLDER_OR_ARCHIVE ...

The first command writes checkpoints of 44 configs by transformers' own
`save_pretrained`, and its logits; the second prints the largest difference. The
third learns the subwords of the lines of a file and writes a tokenizer, and the
ids of each line by `MarianTokenizer`; the fourth counts the lines whose ids
differ, with and without spans in place. The last prints a checksum of the
weights of each checkpoint, whatever its format.
"""

import hashlib
import itertools
import json
import pathlib
import sys
import tempfile

import numpy as np

ROWS, LENGTHS = 61, (9, 7)
# Layers, size, heads, size inside: as in base, big and two others.
SIZES = ((2, 32, 4, 128), (3, 64, 8, 256), (1, 24, 3, 40), (2, 48, 2, 48))


def list_configs():
    """Yields the kind and the options of each config."""
    for size, activation, (shared, tied) in itertools.product(
        SIZES,
        ("swish", "relu", "gelu"),
        ((True, True), (False, True), (False, False)),
    ):
        options = {"activation_function": activation, "pad_token_id": ROWS - 1}
        options |= {"share_encoder_decoder_embeddings": shared}
        options |= {"tie_word_embeddings": tied, "eos_token_id": 0}
        options |= {"decoder_start_token_id": ROWS - 1}
        yield "Marian", size, options
    for size, activation in itertools.product(SIZES, ("relu", "gelu")):
        yield "M2M100", size, {"activation_function": activation}


def make(folder):
    import torch
    import transformers

    for i, (kind, size, options) in enumerate(list_configs()):
        torch.manual_seed(i)
        layers, units, heads, inner = size
        sizes = dict(d_model=units, vocab_size=ROWS, scale_embedding=i % 2 == 0)
        sizes |= dict(max_position_embeddings=64)
        for side in ("encoder", "decoder"):
            fewer = layers - (kind == "M2M100" and side == "decoder")
            sizes[f"{side}_layers"] = max(1, fewer)
            sizes[f"{side}_attention_heads"] = heads
            sizes[f"{side}_ffn_dim"] = inner
        config = getattr(transformers, f"{kind}Config")(**sizes, **options)
        name = {"Marian": "MarianMTModel"}.get(
            kind, "M2M100ForConditionalGeneration"
        )
        model = getattr(transformers, name)(config).eval()
        for weight in model.parameters():
            if weight.requires_grad:
                # Larger ones would make rounding errors visible.
                size = units**-0.5 if weight.dim() > 1 else 0.1
                torch.nn.init.normal_(weight, weight.mean().item(), size)
        if kind == "Marian":
            torch.nn.init.normal_(model.final_logits_bias)
        place = pathlib.Path(folder, f"{i:02}_{kind}")
        model.save_pretrained(place)
        source, target = (torch.randint(3, ROWS - 1, (2, n)) for n in LENGTHS)
        target[:, 0] = config.decoder_start_token_id
        mask = torch.ones_like(source)
        mask[1, 5:] = 0
        source[1, 5:] = config.pad_token_id
        with torch.no_grad():
            logits = model(
                input_ids=source, attention_mask=mask, decoder_input_ids=target
            ).logits
        arrays = dict(source=source, mask=mask, target=target, logits=logits)
        np.savez(
            place / "logits.npz", **{k: x.numpy() for k, x in arrays.items()}
        )


def compare(folder):
    from tfcopy.serving import published_network

    worst = {}
    for place in sorted(pathlib.Path(folder).iterdir()):
        facts = np.load(place / "logits.npz")
        checkpoint = published_network.load(place)
        inputs = {
            "encoder_token_ids": facts["source"],
            "encoder_padding_mask": facts["mask"],
            "decoder_token_ids": facts["target"],
            "decoder_padding_mask": np.ones_like(facts["target"]),
        }
        outputs = checkpoint.backbone(inputs)["decoder_sequence_output"]
        table = checkpoint.backbone.decoder_token_embedding
        logits = table(outputs, reverse=True) + checkpoint.logit_bias
        difference = float(np.abs(logits - facts["logits"]).max())
        size = float(np.abs(facts["logits"]).max())
        print(f"{place.name} {difference:.1e} of {size:.1f}", flush=True)
        kind = json.loads((place / "config.json").read_text())["model_type"]
        worst[kind] = max(worst.get(kind, 0), difference)
    print(worst)


def make_tokens(folder, texts):
    import sentencepiece
    import transformers

    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    pieces = {"</s>": 0, "<unk>": 1, ">>fra<<": 2}
    for side in ("source", "target"):
        sentencepiece.SentencePieceTrainer.train(
            input=texts, model_prefix=str(folder / side), vocab_size=2000
        )
        path = (folder / f"{side}.model").rename(folder / f"{side}.spm")
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        for i in range(3, len(model)):
            # Some pieces of a model are not in the vocabulary.
            if i % 50:
                pieces.setdefault(model.id_to_piece(i), len(pieces))
    pieces["<pad>"] = len(pieces)
    (folder / "vocab.json").write_text(json.dumps(pieces))
    tokenizer = transformers.MarianTokenizer(
        *[str(folder / x) for x in ("source.spm", "target.spm", "vocab.json")]
    )
    lines = pathlib.Path(texts).read_text("utf-8").split("\n")
    ids = [tokenizer(f">>fra<<{x}").input_ids for x in lines]
    (folder / "ids.json").write_text(json.dumps(ids))


def compare_tokens(folder, texts):
    import tensorflow as tf

    from tfcopy.serving import published_tokens

    folder = pathlib.Path(folder)
    ids = json.loads((folder / "ids.json").read_text())
    lines = pathlib.Path(texts).read_text("utf-8").split("\n")
    size = len(json.loads((folder / "vocab.json").read_text()))
    config = dict(vocab_size=size, pad_token_id=size - 1, eos_token_id=0)
    config |= dict(decoder_start_token_id=size - 1)
    for protect in ((), ("printf", "brace", "tags", "rst")):
        tokens = published_tokens.read_marian(
            folder, config, folder, "fra", protect
        )
        special = tokens.special_ids
        rows = [*special, *(x for x in range(size) if x not in special)]
        tokenizer = tokens.tokenizers[0]
        cut = tokenizer.fold(tokenizer.tokenize(tf.constant(lines)))
        found = tokens.vocabularies[0].lookup(cut).to_list()
        # A text without tokens has no language, either.
        found = [[*(rows[x] for x in row), 0] for row in found]
        pairs = [*zip(lines, found, ids, strict=True)]
        differ = [x for x in pairs if x[1] != x[2] and x[2] != [2, 0]]
        print(protect, len(differ), "of", len(lines), differ[:3])


def digest(*checkpoints):
    from tfcopy.serving import opus_mt, published_network

    for path in checkpoints:
        with tempfile.TemporaryDirectory() as folder:
            loaded = published_network.load(opus_mt.convert(path, folder))
        arrays = [loaded.logit_bias, *loaded.backbone.trainable_weights]
        data = b"".join(np.asarray(x).tobytes() for x in arrays)
        print(path, hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
