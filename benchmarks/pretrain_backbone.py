"""Pretrains a small network of KerasHub's by text infilling, on your own text.

    python -m benchmarks.pretrain_backbone bart savedmodels/small_bart \\
        --text a.en a.es.gz --brown brown.zip --updates 6000

For comparisons where no pretrained weights are at hand. Runs of pieces of a
line, about a third of it, are each replaced by one mask, and the network learns
to write the whole line. The tokenizer is trained on the same lines. The folder
becomes a preset, with KerasHub's own class; `tensorboard_logs` lie beside it.
Repeating an interrupted command resumes it. `--random` stores the network with
its random weights, to compare with.

Reference:
    [Lewis et al., 2020](https://arxiv.org/abs/1910.13461), section 2.2.
"""

import dataclasses
import functools
import itertools
import json
import sys
import time

import keras
import keras_hub
import numpy as np

from benchmarks import backbone_copying, flags
from tfcopy import data, losses, models, training
from tfcopy.data.corpora import sentences
from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.training.schedule import InverseSquareRoot, WarmUp

LONGEST, HELD_OUT = 120, 1_000
MASKED, RUN = 0.3, 3.0  # the share of a line, and the mean of Poisson's lengths
MASK = {"bart": "<mask>", "t5": "<extra_id_0>"}
# T5's embeddings begin with a standard deviation of 1: steps of one size for
# all weights would hardly move them.
OPTIMIZERS = {
    "bart": functools.partial(
        keras.optimizers.AdamW, beta_2=0.98, weight_decay=0.01
    ),
    "t5": keras.optimizers.Adafactor,
}
SIZES = {"num_layers": 4, "num_heads": 6, "hidden_dim": 384}
SIZES["intermediate_dim"] = 1536


def main():
    parser = flags.make_parser(
        __doc__,
        ("brown", None, "brown.zip, or its folder"),
        ("updates", 6_000, "updates"),
        ("tokens", 4_096, "tokens of a batch"),
        ("pieces", 12_000, "pieces of the tokenizer"),
        ("rate", 1e-3, "the highest"),
        ("dtype", "mixed_bfloat16", "of the network"),
        ("random", False, "train nothing"),
    )
    parser.add_argument("kind", choices=MASK)
    parser.add_argument("folder", help="becomes the preset")
    parser.add_argument("--text", nargs="+", default=[], help="files of lines")
    print(json.dumps(run(parser.parse_args())))


def run(arguments):
    """Trains and stores one; the figures as a dict."""
    keras.utils.set_random_seed(0)
    kind, folder = arguments.kind, arguments.folder
    lines = read(arguments.text, arguments.brown)
    if kind == "bart":
        tokenizer = backbone_copying.bart_tokenizer(lines, arguments.pieces)
    else:
        more = {"user_defined_symbols": [MASK["t5"]], "character_coverage": 1.0}
        make = backbone_copying.t5_tokenizer
        tokenizer = make(lines, arguments.pieces, **more)
    pieces = data.hub_pieces(tokenizer, f"{folder}.pieces")
    backbone = make_backbone(kind, tokenizer, arguments.dtype)
    if arguments.random:
        store(kind, folder, backbone, tokenizer)
        return {"kind": kind, "weights": backbone.count_params()}
    words, size = pieces.vocabulary, {"vocabulary_size": pieces.vocabulary.size}
    size["special_ids"] = pieces.special_ids
    model = models.from_backbone(backbone, head="softmax", **size)
    sides = {"source_vocabulary": words, "target_vocabulary": words}
    for side in ("source", "target"):
        sides[f"{side}_tokenizer"] = pieces.tokenizer
    encoded = functools.partial(data.encode, **sides, max_length=LONGEST)
    dev, train = (
        [(line, line) for line in part]
        for part in (lines[:HELD_OUT], lines[HELD_OUT:])
    )
    mask = pieces.vocabulary.words.index(MASK[kind])
    infilled = Infilling(encoded(train), mask)
    limit = TokenLimit(arguments.tokens)

    def batches(epoch, start_batch, context):
        options = {"shuffle_seed": 0, "epoch": epoch}
        options["start_batch"] = start_batch
        return data.batches(infilled(epoch), limit, **options)

    warm_up = max(1, arguments.updates // 10)
    rate = WarmUp(InverseSquareRoot(arguments.rate, warm_up), warm_up)
    trainer = training.Trainer(
        model,
        losses.generation_loss,
        OPTIMIZERS[kind](rate),
        batches,
        backbone_copying.dev_batches(
            Infilling(encoded(dev), mask)(0), arguments.tokens // LONGEST
        ),
        f"{folder}.tensorboard_logs",
        steps=arguments.updates,
        eval_every=500,
        save_every=500,
        clip_norm=1.0,
    )
    before = time.monotonic()
    result = trainer.fit()
    store(kind, folder, backbone, tokenizer)
    return {
        "kind": kind,
        "lines": len(lines),
        "pieces": pieces.vocabulary.size,
        "weights": backbone.count_params(),
        "updates": arguments.updates,
        "minutes": round((time.monotonic() - before) / 60, 1),
        "dev_perplexity": round(result.best_dev_perplexity, 3),
    }


class Infilling:
    """A corpus of lines with new masks for each epoch.

    Args:
        encoded: `EncodedCorpus` of pairs of a line and itself.
        mask: Id of the mask.
    """

    def __init__(self, encoded, mask):
        self.encoded, self.mask = encoded, mask

    @functools.lru_cache(1)  # noqa: B019
    def __call__(self, epoch):
        rng = np.random.default_rng([0, epoch])
        sources = [
            self.masked(self.encoded.source_ids[start:end], rng)
            for start, end in itertools.pairwise(self.encoded.source_splits)
        ]
        ids = np.concatenate(sources).astype("int32")
        return dataclasses.replace(
            self.encoded,
            source_ids=ids,
            source_copy_ids=ids,
            source_splits=np.cumsum([0, *map(len, sources)]),
        )

    def masked(self, ids, rng):
        """The ids of a line and EOS, with runs of them replaced by a mask."""
        hidden = np.zeros(len(ids), bool)
        starts = hidden.copy()
        while hidden[:-1].sum() < MASKED * (len(ids) - 1):
            run = max(1, rng.poisson(RUN))
            start = rng.integers(0, max(1, len(ids) - 1))
            end = min(start + run, len(ids) - 1)
            starts[start:end] = False
            starts[start] = True
            hidden[start:end] = True
        return np.where(starts, self.mask, ids)[starts | ~hidden]


def read(files, brown):
    """The different lines of all files, in an order that the seed draws."""
    lines = itertools.chain.from_iterable(map(read_lines, files))
    if brown:
        corpus = sentences.load_brown(brown)
        lines = itertools.chain(
            lines, corpus.train, corpus.validation, corpus.test
        )
    found = dict.fromkeys(" ".join(line.split()) for line in lines)
    found.pop("", None)
    found = list(found)
    np.random.default_rng(0).shuffle(found)
    return found


def make_backbone(kind, tokenizer, dtype):
    """A random network with a row for each piece."""
    rows = tokenizer.vocabulary_size()
    if kind == "bart":
        return keras_hub.models.BartBackbone(
            rows, max_sequence_length=512, dtype=dtype, **SIZES
        )
    return keras_hub.models.T5Backbone(
        rows, activation="relu", dtype=dtype, **SIZES
    )


def store(kind, folder, backbone, tokenizer):
    """The network and its preprocessor as a preset of KerasHub."""
    name = {"bart": "Bart", "t5": "T5"}[kind]
    preprocessor = getattr(keras_hub.models, f"{name}Seq2SeqLMPreprocessor")(
        tokenizer, encoder_sequence_length=128, decoder_sequence_length=128
    )
    task = getattr(keras_hub.models, f"{name}Seq2SeqLM")
    task(backbone, preprocessor).save_to_preset(folder)


if __name__ == "__main__":
    sys.exit(main())
