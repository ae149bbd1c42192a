"""Checkpoints beside transformers' own: networks with random weights, tokens.

    python benchmarks/transformers_equality.py make FOLDER   # has transformers
    python -m benchmarks.transformers_equality compare FOLDER     # has tfcopy
    python benchmarks/transformers_equality.py make_tokens FOLDER TEXTS KIND
    python -m benchmarks.transformers_equality compare_tokens FOLDER TEXTS KIND

The first command writes checkpoints of 44 configs by transformers' own
`save_pretrained`, and its logits; the second prints the largest difference. The
third learns the subwords of the lines of a file and writes a tokenizer, and the
ids of each line, as a source and as a target, by the tokenizer of transformers;
the fourth counts the lines whose ids differ, with and without spans in place.
KIND is Marian, M2M100, SMALL100 or Nllb.
"""

import itertools
import json
import pathlib
import sys

import numpy as np

ROWS, LENGTHS = 61, (9, 7)
BPE = "sentencepiece.bpe.model"
# Languages by kind of tokenizer.
PAIRS = {"Marian": (None, "fra"), "Nllb": ("eng_Latn", "fra_Latn")}
PAIRS |= dict.fromkeys(("M2M100", "SMALL100"), ("en", "fr"))
# Layers, size, heads, size inside: as in base, big and two others.
SIZES = ((2, 32, 4, 128), (3, 64, 8, 256), (1, 24, 3, 40), (2, 48, 2, 48))


def list_configs():
    """Yields the kind and the options of each config."""
    tables = (True, True), (False, True), (False, False)
    all_of_them = itertools.product(SIZES, ("swish", "relu", "gelu"), tables)
    for size, activation, (shared, tied) in all_of_them:
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
        model = transformers.AutoModelForSeq2SeqLM.from_config(config).eval()
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
            logits = model(source, mask, target).logits
        arrays = dict(source=source, mask=mask, target=target, logits=logits)
        np.savez(place / "logits.npz", **arrays)


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


def make_tokens(folder, texts, kind):
    import sentencepiece
    import transformers

    folder, is_marian = pathlib.Path(folder), kind == "Marian"
    folder.mkdir(exist_ok=True)
    first = "</s> <unk> >>fra<<" if is_marian else "<s> <pad> </s> <unk>"
    pieces = {x: i for i, x in enumerate(first.split())}
    for name in ("source.spm", "target.spm") if is_marian else [BPE]:
        sentencepiece.SentencePieceTrainer.train(
            f"--input={texts} --model_prefix={folder}/new --vocab_size=2000"
            f" --model_type={'unigram' if is_marian else 'bpe'}"
        )
        path = (folder / "new.model").rename(folder / name)
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        for i in range(3, len(model)):
            # Some pieces of a model are not in the vocabulary.
            if i % 50 or kind == "Nllb":
                pieces.setdefault(model.id_to_piece(i), len(pieces))
    pad = pieces.setdefault("<pad>", len(pieces))
    source, target = PAIRS[kind]
    is_small, options = kind == "SMALL100", {"tgt_lang": target}
    if kind == "Nllb":
        codes = transformers.models.nllb.tokenization_nllb
        options["extra_special_tokens"] = codes.FAIRSEQ_LANGUAGE_CODES
    else:
        (folder / "vocab.json").write_text(json.dumps(pieces))
    name = f"{kind.replace('SMALL', 'M2M')}Tokenizer"
    tokenizer = getattr(transformers, name).from_pretrained(
        folder, src_lang=target if is_small else source, **options
    )
    tokenizer.save_pretrained(folder)
    if is_small:
        text = '{"tokenizer_class": "SMALL100Tokenizer"}'
        (folder / "tokenizer_config.json").write_text(text)
    lines = pathlib.Path(texts).read_text("utf-8").split("\n")
    ids = [tokenizer(">>fra<<" * is_marian + x).input_ids for x in lines]
    # The targets of SMaLL-100 begin with no language.
    answers = [tokenizer(text_target=x).input_ids[is_small:] for x in lines]
    (folder / "ids.json").write_text(json.dumps([ids, answers]))
    end, rows = pieces["</s>"], len(pieces) + 210 * (not is_marian)
    model = "Marian" if is_marian else "M2M100"
    options = dict(pad_token_id=pad, eos_token_id=end, vocab_size=rows)
    options["decoder_start_token_id"] = pad if is_marian else end
    getattr(transformers, f"{model}Config")(**options).save_pretrained(folder)


def compare_tokens(folder, texts, kind):
    import tensorflow as tf

    from tfcopy.serving import published_network, published_tokens

    expected = json.loads(pathlib.Path(folder, "ids.json").read_text())
    lines = pathlib.Path(texts).read_text("utf-8").split("\n")
    config = published_network.read_config(folder)
    tokens = published_tokens.read(folder, config, *PAIRS[kind])
    special, size = tokens.special_ids, config["vocab_size"]
    rows = [*special, *(x for x in range(size) if x not in special)]
    # A target's language is its BOS.
    firsts = [], [] if tokens.start is None else [special[2]]
    for protect in ((), ("printf", "brace", "tags", "rst")):
        sides = zip(expected, *tokens.make(folder, protect), firsts)
        for ids, tokenizer, vocabulary, first in sides:
            cut = tokenizer.fold(tokenizer.tokenize(tf.constant(lines)))
            found = vocabulary.lookup(cut).to_list()
            found = [[*first, *(rows[x] for x in y), special[3]] for y in found]
            pairs = [*zip(lines, found, ids, strict=True)]
            # A text without tokens has no language, either.
            differ = [x for x in pairs if x[1] != x[2] and len(x[2]) > 2]
            print(protect, len(differ), "of", len(lines), differ[:3])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
