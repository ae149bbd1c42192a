"""What a training step of CopyNet costs, beside one of RNNSearch.

    python -m benchmarks.copynet_speed
    python -m benchmarks.copynet_speed --batch_size 64 --steps 400

Both systems have the paper's sizes (GRUs of 300, embeddings of 150) and take
the same real batches of the rules task in one run, now the one first and now
the other. The ratio is that of the two times of each batch, so that lengths
and whatever else the machine does matter little. The exit status is 1 if its
median is above `--limit`.
"""

import argparse
import os
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from tfcopy import losses
from tfcopy.data.tokenization import Tokenizer
from tfcopy.recipes import common, copy_rules_copynet, copynet
from tfcopy.training import Trainer

SYSTEMS = {"rnnsearch": "softmax", "copynet": "copynet"}
WARM_UP = 15


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch_size", type=positive, default=20)
    parser.add_argument(
        "--steps", type=positive, default=200, help="batches timed"
    )
    parser.add_argument(
        "--limit", type=float, default=1.25, help="largest ratio wanted"
    )
    arguments = parser.parse_args()
    sizes = copy_rules_copynet.PRESETS["paper"]
    config = copy_rules_copynet.Config(
        **{**sizes, "batch_size": arguments.batch_size}
    )
    seconds, tokens = measure(config, arguments.steps)
    return report(seconds, tokens, arguments.limit)


def positive(text):
    """A number from 1 on, of a flag."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def measure(config, num_steps):
    """Times the steps of both systems.

    Returns:
        `(seconds, tokens)`: dict from a system to the seconds of its steps,
        and the target tokens of each batch.
    """
    with tempfile.TemporaryDirectory() as folder:
        rules = copy_rules_copynet.load_rules(config, folder)
        tokenizer = Tokenizer(mode="space", language="other")
        data = copynet.prepare(config, rules.corpus, tokenizer, folder)
    stream = batches(config, data)
    steps = {
        system: make_step(config, data, system, stream.element_spec)
        for system in SYSTEMS
    }
    scale = tf.constant(1.0 / config.batch_size)
    seconds, tokens = {system: [] for system in SYSTEMS}, []
    for number, batch in enumerate(stream.take(WARM_UP + num_steps)):
        for system in list(SYSTEMS)[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            loss = steps[system](batch, scale)
            seconds[system].append(time.perf_counter() - start)
            assert np.isfinite(loss), f"{system}: the loss is {loss}."
        tokens.append(np.count_nonzero(batch["target_ids"]))
    timed = {system: np.array(s[WARM_UP:]) for system, s in seconds.items()}
    return timed, np.array(tokens[WARM_UP:])


def batches(config, data):
    """Training batches, one epoch over and over."""
    context = tf.distribute.InputContext(num_replicas_in_sync=1)
    epoch = common.batches(config, data.train, config.seed)(0, 0, context)
    return epoch.repeat().prefetch(2)


def make_step(config, data, system, element_spec):
    """One update, through the true train step: `(batch, scale)` to a loss."""
    strategy = tf.distribute.get_strategy()
    model = copynet.build_model(config, data, system, strategy)
    print(f"{system}: {common.num_parameters(model):,} parameters")
    trainer = Trainer(
        model,
        losses.OF_HEAD[SYSTEMS[system]],
        common.optimizer(config, config.updates),
        common.batches(config, data.train, config.seed),
        normalize="sentences",
        clip_norm=config.clip_norm,
        steps=1,
        verbose=False,
    )
    update = trainer.step_for(element_spec).update
    seeds = tf.zeros((1, len(trainer.seed_states)), tf.int64)

    def step(batch, scale):
        nll, norm, _ = update((batch,), scale, seeds, tf.constant(0.0))
        return float(nll + norm)  # waits for the device

    return step


def report(seconds, tokens, limit):
    """Prints medians and the ratio; returns the exit status."""
    for system, values in seconds.items():
        low, median, high = np.percentile(1000 * values, [25, 50, 75])
        print(
            f"{system}: {median:.1f} ms a step (quartiles {low:.1f} and "
            f"{high:.1f}), {np.median(tokens / values):,.0f} target tokens/s"
        )
    ratios = seconds["copynet"] / seconds["rnnsearch"]
    low, median, high = np.percentile(ratios, [25, 50, 75])
    verdict = "within" if median <= limit else "above"
    print(
        f"copynet / rnnsearch: {median:.3f} (quartiles {low:.3f} and "
        f"{high:.3f}, {len(ratios):,} batches), {verdict} {limit:g}"
    )
    return int(median > limit)


if __name__ == "__main__":
    sys.exit(main())
