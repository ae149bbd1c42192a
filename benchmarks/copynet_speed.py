"""What a training step of CopyNet costs, beside one of RNNSearch.

    python -m benchmarks.copynet_speed
    python -m benchmarks.copynet_speed --batch_size 64 --steps 400

Both systems have the paper's sizes (GRUs of 300, embeddings of 150) and take
the same real batches of the rules task in one run, now the one first and now
the other. The ratio is that of the two times of each batch, so that lengths
and whatever else the machine does matter little. The exit status is 1 if its
median is above `--limit`.
"""

import sys
import tempfile

import keras
import numpy as np

from benchmarks import flags, timing
from tfcopy import losses
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments import training_choices
from tfcopy.experiments.pairs import copynet_systems
from tfcopy.recipes import copy_rules_copynet

SYSTEMS = {"rnnsearch": "softmax", "copynet": "copynet"}
WARM_UP = 15


def main():
    arguments = flags.parse(
        __doc__,
        ("batch_size", 20, "pairs"),
        ("steps", 200, "batches timed"),
        ("limit", 1.25, "largest ratio wanted"),
    )
    sizes = copy_rules_copynet.PRESETS["paper"]
    config = copy_rules_copynet.Config(
        **{**sizes, "batch_size": arguments.batch_size}
    )
    seconds, tokens = measure(config, arguments.steps)
    return report(seconds, tokens, arguments.limit)


def measure(config, num_steps):
    """Times the steps of both systems.

    Returns:
        `(seconds, tokens)`: dict from a system to the seconds of its steps,
        and the target tokens of each batch.
    """
    with tempfile.TemporaryDirectory() as folder:
        rules = copy_rules_copynet.load_rules(config)
        tokenizer = Tokenizer(mode="space", language="other")
        data = copynet_systems.prepare(config, rules.corpus, tokenizer, folder)
    # One epoch over and over.
    stream = timing.epochs_of(config, data)(0).repeat().prefetch(2)
    steps = {
        system: make_step(config, data, system, stream.element_spec)
        for system in SYSTEMS
    }
    given = list(stream.take(WARM_UP + num_steps))
    seconds = timing.race(steps, given, WARM_UP)
    tokens = [np.count_nonzero(batch["target_ids"]) for batch in given]
    return seconds, np.array(tokens[WARM_UP:])


def make_step(config, data, system, element_spec):
    """One update of a system: a batch to its loss."""
    keras.utils.set_random_seed(config.seed)
    model = copynet_systems.make_model(config, data, system)
    print(f"{system}: {model.count_params():,} parameters")
    return timing.make_step(
        model,
        losses.of_head(model.head),
        training_choices.make_optimizer(config, model, config.updates),
        element_spec,
        normalize="sentences",
        clip_norm=config.clip_norm,
    )


def report(seconds, tokens, limit):
    """Prints medians and the ratio; returns the exit status."""
    timing.print_times(seconds)
    for system, values in seconds.items():
        rate = np.median(tokens / values)
        print(f"{system}: {rate:,.0f} target tokens/s")
    return int(
        timing.print_ratio(seconds, "copynet", "rnnsearch", limit) > limit
    )


if __name__ == "__main__":
    sys.exit(main())
