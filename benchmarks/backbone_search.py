"""Our search beside KerasHub's `generate`, with the same network and lengths.

    python -m benchmarks.backbone_search
    python -m benchmarks.backbone_search --kind t5 --layers 6 --hidden 512
    python -m benchmarks.backbone_search --kind gemma

A random network answers random sources: KerasHub's task with its beam sampler,
and our search of the same network, without pointing and with, all of them
without and with XLA (`--set xla=true` of an export). All answers have the
greatest length. The sides take turns; figures are quartiles of rounds, in
seconds for each sentence.
"""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from benchmarks import timing
from tfcopy import models, tokens
from tfcopy.decoding import SearchOptions, beam_search

KINDS = {
    "bart": ("Bart", {"max_sequence_length": 512}),
    "t5": ("T5", {"activation": "relu"}),
    "gpt2": ("GPT2", {"max_sequence_length": 512}),
    "gemma": ("Gemma", {"head_dim": 64}),
}
DECODERS = ("gpt2", "gemma")
OURS = {"ours_softmax": "softmax", "ours_pointing": "pointer_generator"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, default="bart")
    timing.add_numbers(
        parser,
        ("layers", 4, "blocks on each side"),
        ("hidden", 384, "width"),
        ("words", 12_000, "rows of the table"),
        ("source", 48, "pieces of a source"),
        ("target", 32, "pieces of an answer"),
        ("beams", 5, "beam size"),
        ("rounds", 5, "rounds"),
    )
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 16])
    arguments = parser.parse_args()
    for batch in arguments.batches:
        print(json.dumps(run(arguments, batch)), flush=True)


def run(arguments, batch):
    """Seconds a sentence of each side, and how many times as fast ours are."""
    keras.utils.set_random_seed(0)
    backbone = make_backbone(arguments)
    rng = np.random.default_rng(0)
    shape = batch, arguments.source
    source = rng.integers(5, arguments.words, shape, "int32")
    sides = {}
    for xla in (False, True):
        end = "_xla" * xla
        sides[f"keras_hub{end}"] = of_task(arguments, backbone, source, xla)
        for name, head in OURS.items():
            sides[f"{name}{end}"] = ours(arguments, backbone, source, head, xla)
    seconds = {name: [] for name in sides}
    for number in range(arguments.rounds + 1):
        for name, answer in sides.items():
            start = time.perf_counter()
            answer()
            if number:  # the first traces and compiles
                seconds[name].append((time.perf_counter() - start) / batch)
    found = {
        k: [*np.quantile(x, [0.25, 0.5, 0.75])] for k, x in seconds.items()
    }
    best = min(found["keras_hub"][1], found["keras_hub_xla"][1])
    return {
        "kind": arguments.kind,
        "batch": batch,
        "seconds_a_sentence": {
            k: [round(y, 4) for y in x] for k, x in found.items()
        },
        "times_as_fast": {
            k: round(best / x[1], 2)
            for k, x in found.items()
            if k.startswith("ours")
        },
        "matrix_rate_gflops": round(timing.matrix_rate() / 1e9),
    }


def make_backbone(arguments):
    name, options = KINDS[arguments.kind]
    heads = {"num_heads": arguments.hidden // 64}
    if arguments.kind == "gemma":
        heads = dict.fromkeys(
            ("num_query_heads", "num_key_value_heads"), heads["num_heads"]
        )
    return getattr(keras_hub.models, f"{name}Backbone")(
        arguments.words,
        num_layers=arguments.layers,
        hidden_dim=arguments.hidden,
        intermediate_dim=4 * arguments.hidden,
        **heads,
        **options,
    )


def of_task(arguments, backbone, source, xla):
    """KerasHub's search, as a function without arguments."""
    name, _ = KINDS[arguments.kind]
    kind = "CausalLM" if arguments.kind in DECODERS else "Seq2SeqLM"
    task = getattr(keras_hub.models, f"{name}{kind}")(
        backbone=backbone, preprocessor=None
    )
    sampler = keras_hub.samplers.BeamSampler(num_beams=arguments.beams)
    task.compile(sampler=sampler, jit_compile=xla)
    targets = np.zeros((len(source), arguments.target), "int32")
    begun = targets.copy()
    begun[:, 0] = 1
    inputs = {
        "encoder_token_ids": source,
        "encoder_padding_mask": np.ones_like(source),
        "decoder_token_ids": targets,
        "decoder_padding_mask": begun,
    }
    if arguments.kind in DECODERS:
        # A start, the source, a start, the target.
        start = np.ones_like(source[:, :1])
        words = [start, source, targets]
        given = [start, np.ones_like(source), begun]
        inputs = {
            name: np.concatenate(parts, axis=1)
            for name, parts in (("token_ids", words), ("padding_mask", given))
        }
    return lambda: task.generate(inputs, stop_token_ids=None)


def ours(arguments, backbone, source, head, xla):
    """Our search, as a function without arguments."""
    model = models.from_backbone(backbone, head=head)
    length = arguments.target
    options = SearchOptions(
        num_beams=arguments.beams,
        max_length=length,
        min_length=length - 1,
        static_shapes=xla,
    )
    copied = tf.constant(np.where(source > tokens.EOS, source, tokens.NO_COPY))
    source = tf.constant(source)
    search = tf.function(
        lambda ids, copy_ids: beam_search(model, ids, copy_ids, options).ids,
        jit_compile=xla,
    )
    return lambda: search(source, copied).numpy()


if __name__ == "__main__":
    sys.exit(main())
