"""Speed, memory and efficiency on Multi30k English-French, beside a peer.

    python -m benchmarks.multi30k_speed --data_dir multi30k/tok \
        --run_dir tensorboard_logs/europarl_ps/multi30k --workdir peer/

One run measures, one after the other and each in a process of its own: the
machine's matrix-product rate; training steps of tfcopy in float32 and in
mixed_bfloat16, with the share of that rate that they reach; translation of
the 1,000 test sentences with beam 5, in batches of 32 and one by one, also with
a shortlist and, one by one, with XLA; and the same of OpenNMT-py with its copy
attention (see opennmt_peer.py). The sides take turns, --rounds times, and the
ratios are medians of this run alone. `--run_dir` is what the recipe left
(docs/results.md, "Multi30k"); without it, models with random weights are timed
in training only.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

from benchmarks import flags

PRECISIONS = ("float32", "mixed_bfloat16")
WARM_UP = 15
# Flags of the recipe for the models of the Multi30k experiments; see
# opennmt_peer.SETTINGS for the peer's.
MODELS = {
    "gru": {
        "units": 512,
        "encoder_units": 256,
        "output_units": 512,
        "dropout": 0.2,
        "learning_rate": 1e-3,
        "schedule": "constant",
    },
    "transformer": {
        "encoder": "transformer",
        "decoder": "transformer",
        "encoder_layers": 3,
        "decoder_layers": 3,
        "feedforward_units": 1_024,
        "units": 256,
        "encoder_units": 128,
        "tied_embeddings": True,
        "dropout": 0.1,
        "label_smoothing": 0.1,
        "learning_rate": 2e-3,
        "schedule": "inverse_sqrt",
        "warmup": 400,
        "pool_batches": 256,  # as many as the peer sorts
    },
}


def recipe_config(data_dir, precision, model="gru", run_dir=None):
    """The recipe's config of a Multi30k experiment."""
    from tfcopy.recipes import europarl_ps

    def pair(part):
        stem = os.path.join(data_dir, part + ".lc.norm.tok.")
        return [stem + "en.gz", stem + "fr.gz"]

    folder = pathlib.Path(run_dir or "benchmark/run")
    return europarl_ps.Config(
        train=pair("train"),
        validation=pair("val"),
        test=pair("test_2016_flickr"),
        tokenization="space",
        source_vocabulary_size=10_000,
        target_vocabulary_size=10_000,
        embedding_dim=256,
        batch_size=64,
        updates=2_000,
        bleu_tokenize="none",
        precision=precision,
        run=folder.name,
        log_dir=str(folder.parent),
        **MODELS[model],
    )


def forward_products(config, source_tokens, target_tokens, pairs, words):
    """Floating-point operations of the forward matrix products of a batch.

    Counts every position that is computed (padding too), and nothing but
    products with weights or annotations: a multiplication and an addition for
    each pair of elements. Self-attention's products of positions with each
    other, a few per cent of a Transformer's, are left out.

    Args:
        config: The recipe's config.
        source_tokens, target_tokens: Positions of the batch, B * S and B * T.
        pairs: B * S * T.
        words: Target vocabulary size.
    """
    e, d, h = config.embedding_dim, config.units, config.encoder_units
    o, c, a = config.output_units or e, 2 * config.encoder_units, 2 * h
    attention = a + c
    if config.decoder == "transformer":
        f = config.feedforward_units
        encoder = e * c + config.encoder_layers * (4 * c * c + 2 * c * f)
        # Keys and values of each block's attention over the source, and the
        # keys of the attention that points.
        encoder += config.decoder_layers * 2 * c * d + c * d
        block = 4 * d * d + 2 * d * d + 2 * d * f
        decoder = e * d + config.decoder_layers * block + d * d
        attention += config.decoder_layers * 2 * d
    else:
        encoder = 2 * (e * 3 * h + h * 3 * h) + c * a
        decoder = e * 3 * d + d * 3 * d + d * (a + 3 * d) + c * 3 * d
    readout = (d + e + c) * o + o * words
    switch = (d + c) * e + e * e + e
    return 2 * (
        source_tokens * encoder
        + target_tokens * (decoder + readout + switch)
        + pairs * attention
    )


def train_job(options):
    """Times training steps on real batches, through the true train step."""
    import keras
    import numpy as np

    from benchmarks import timing
    from tfcopy import losses
    from tfcopy.experiments import training_choices
    from tfcopy.experiments.pairs import pointer_softmax_systems
    from tfcopy.recipes import europarl_ps

    config = recipe_config(options.data_dir, options.precision, options.model)
    config = dataclasses.replace(config, log_dir=options.folder)
    keras.config.set_dtype_policy(config.precision)
    data = europarl_ps.prepare(config, os.path.join(options.folder, "data"))
    keras.utils.set_random_seed(0)
    model = pointer_softmax_systems.make_model(config, data, "pointer_softmax")
    batches = timing.epochs_of(config, data)(0)
    step = timing.make_step(
        model,
        losses.LabelSmoothing(losses.observed_copy_loss, config.label_smoothing)
        if config.label_smoothing
        else losses.observed_copy_loss,
        training_choices.make_optimizer(config, model),
        batches.element_spec,
        clip_norm=1.0,
    )
    rate = timing.matrix_rate()
    seconds, tokens, operations = [], [], []
    for number, batch in enumerate(batches.prefetch(2)):
        if number == WARM_UP + options.steps:
            break
        source, target = batch["source_ids"], batch["target_ids"]
        start = time.perf_counter()
        step(batch)
        seconds.append(time.perf_counter() - start)
        tokens.append(int(np.count_nonzero(target)))
        size, length = target.shape
        operations.append(
            3
            * forward_products(
                config,
                size * source.shape[1],
                size * length,
                size * length * source.shape[1],
                data.vocabularies[1].size,
            )
        )
    rate = max(rate, timing.matrix_rate())
    rows = list(zip(seconds, tokens, operations))[WARM_UP:]
    achieved = statistics.median(f / s for s, _, f in rows)
    return {
        "target_tokens_per_second": statistics.median(
            t / s for s, t, _ in rows
        ),
        "milliseconds_per_step": 1000 * statistics.median(seconds[WARM_UP:]),
        "model_gflops_per_second": achieved / 1e9,
        "matrix_gflops_per_second": rate / 1e9,
        "share_of_matrix_rate": achieved / rate,
        "parameters": model.count_params(),
    }


def translate_job(options):
    """Times the translation of the test set; the model's loading is apart."""
    from tfcopy.data.alignment import likely_translations
    from tfcopy.experiments.pairs import translation_systems
    from tfcopy.recipes import europarl_ps
    from tfcopy.serving.servables import storage

    config = recipe_config(
        options.data_dir, options.precision, options.model, options.run_dir
    )
    data = europarl_ps.prepare(config, os.path.join(options.run_dir, "data"))
    changes = {"precision": options.precision, "same_in_every_batch": False}
    if options.more == "shortlist":
        changes["shortlist"] = likely_translations.learn(
            data.train, *data.vocabularies
        )
    folder = os.path.join(options.run_dir, "pointer_softmax")
    translator = storage.load(folder, changes).served
    texts = [pair[0] for pair in data.test]
    translator.translate_all(["a a"], 1, progress=False)  # builds the graphs
    start = time.perf_counter()
    answers = translator.translate_all(texts, options.batch, progress=False)
    seconds = time.perf_counter() - start
    scores = translation_systems.score(answers, data, config.bleu_tokenize)
    return {
        "seconds": seconds,
        "bleu": scores["bleu"],
        "signature": scores["bleu_signature"],
    }


def measure(job, options, **arguments):
    """Runs a job in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.multi30k_speed"]
    command += ["--job", job]
    for name, value in {**vars(options), **arguments}.items():
        if value is not None and name not in ("job", "batches"):
            command += [f"--{name}", str(value)]
    print(job, arguments, flush=True)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    result = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(result, indent=2), flush=True)
    return result


def compare(options):
    """Measures both systems and prints the ratios."""
    peer = None
    if options.workdir:
        from benchmarks import opennmt_peer

        peer = opennmt_peer.open_peer(
            options.workdir,
            options.data_dir,
            options.peer_updates,
            peer_python=options.peer_python,
            settings=opennmt_peer.SETTINGS[options.model],
        )
    found = {}
    for _ in range(options.rounds):
        for precision in PRECISIONS:
            note(
                found,
                f"training, {precision}",
                measure("train", options, precision=precision),
            )
        if peer:
            note(found, "training, peer", peer.time_training())
    for batch in options.batches if options.run_dir else ():
        for _ in range(options.rounds if batch > 1 else 1):
            for precision, more in variants(batch):
                name = ", ".join(filter(None, (precision, more)))
                note(
                    found,
                    f"batch {batch}, {name}",
                    measure(
                        "translate",
                        options,
                        precision=precision,
                        more=more,
                        batch=batch,
                    ),
                )
            if peer:
                note(found, f"batch {batch}, peer", peer.time_search(batch))
    report = {"measured": found}
    if peer:
        report["ratios"] = ratios(found)
    print(json.dumps(report, indent=2))
    return report


def variants(batch):
    """Precisions and what else may be set, of a search."""
    plain = [(precision, None) for precision in PRECISIONS]
    return plain + [(precision, "shortlist") for precision in PRECISIONS]


def note(found, name, result):
    found.setdefault(name, []).append(result)


def ratios(found):
    """How many times faster than the peer: medians of the rounds."""
    seconds = {
        name: [
            x.get("seconds") or 1 / x["target_tokens_per_second"]
            for x in results
        ]
        for name, results in found.items()
    }
    return {
        name: statistics.median(
            theirs / ours
            for theirs, ours in zip(seconds[f"{name.split(', ')[0]}, peer"], x)
        )
        for name, x in seconds.items()
    }


def main():
    parser = flags.make_parser(
        __doc__,
        ("run_dir", None, "the recipe's Multi30k run"),
        ("workdir", None, "of the peer; without it, no peer"),
        ("peer_python", None, "an environment with the peer"),
        ("model", tuple(MODELS), "whose sizes"),
        ("peer_updates", 2_000, "updates of the peer"),
        ("steps", 60, "training steps timed"),
        ("rounds", 3, "of both sides in turn"),
        ("folder", "/tmp/tfcopy_benchmark", "of data"),
        ("out", None, "JSON file to write"),
    )
    parser.add_argument("--data_dir", required=True, help="the .gz files")
    parser.add_argument(
        "--batches", type=int, nargs="*", default=[32, 1], help="of searches"
    )
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--precision", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--more", help=argparse.SUPPRESS)
    options = parser.parse_args()
    jobs = {"train": train_job, "translate": translate_job}
    if options.job:
        if options.job == "translate":
            # As `tfcopy.serving.ask` does, which answers batches at once, too.
            os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
        result = jobs[options.job](options)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**result, "peak_memory_mib": peak}))
        return
    report = compare(options)
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
