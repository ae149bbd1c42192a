"""What planning costs: training steps and search of the three systems.

    python -m benchmarks.planner_speed
    python -m benchmarks.planner_speed --decoder gru --units 600 --batch_size 16

Baseline, pag and rpag have the same sizes and take the same batches of random
words, now the one first and now the other; then each searches for answers of
`--target_length` characters. The exit status is 1 if a step of pag takes more
than `--limit` times the baseline's, or rpag is not cheaper than pag.
"""

import sys

import keras
import numpy as np

from benchmarks import flags, timing
from tfcopy import losses
from tfcopy.models.planner import SYSTEMS, planner
from tfcopy.training import Adam

WARM_UP = 3
SOURCE_WORDS, CHARACTERS = 8_000, 304


def main():
    arguments = flags.parse(
        __doc__,
        ("units", 256, "of encoder and decoder"),
        ("embedding_dim", 256, "of both sides"),
        ("plan_steps", 10, "of a plan"),
        ("batch_size", 32, "sentences"),
        ("source_length", 25, "pieces"),
        ("target_length", 100, "characters"),
        ("num_beams", 5, "of the search"),
        ("steps", 12, "batches timed"),
        ("decoder", ("biscale", "gru"), "of the characters"),
        ("query", ("both", "first", "second"), "what attends"),
        ("limit", 1.5, "largest pag / baseline wanted"),
    )
    models = {system: make_model(arguments, system) for system in SYSTEMS}
    print("Training steps")
    trained = timing.race(steps(models, arguments), batches(arguments), WARM_UP)
    timing.print_times(trained)
    ratio = timing.print_ratio(trained, "pag", "baseline", arguments.limit)
    timing.print_ratio(trained, "rpag", "baseline")
    cheaper = timing.print_ratio(trained, "rpag", "pag", 1.0) < 1
    print("Search")
    searches = {
        system: timing.make_search(
            model, arguments.num_beams, arguments.target_length
        )
        for system, model in models.items()
    }
    found = timing.race(searches, batches(arguments), WARM_UP)
    timing.print_times(found)
    timing.print_ratio(found, "pag", "baseline")
    cheaper &= timing.print_ratio(found, "rpag", "pag", 1.0) < 1
    return int(ratio > arguments.limit or not cheaper)


def make_model(arguments, system):
    keras.utils.set_random_seed(0)
    model = planner(
        SOURCE_WORDS,
        CHARACTERS,
        system=system,
        decoder=arguments.decoder,
        query=arguments.query,
        embedding_dim=arguments.embedding_dim,
        units=arguments.units,
        plan_steps=arguments.plan_steps,
        seed=0,
    )
    print(f"{system}: {model.count_params():,} parameters")
    return model


def batches(arguments):
    """Random words; every target has the same length."""
    rng = np.random.default_rng(0)
    for _ in range(WARM_UP + arguments.steps):
        yield timing.random_batch(
            rng,
            arguments.batch_size,
            (SOURCE_WORDS, CHARACTERS),
            (arguments.source_length, arguments.target_length),
        )


def steps(models, arguments):
    """System to its training step."""
    spec = timing.specs(next(batches(arguments)))
    return {
        system: timing.make_step(
            model,
            losses.generation_loss,
            Adam(1e-4),
            spec,
            penalty=None
            if system == "baseline"
            else losses.CommitmentPenalty(3e-5),
            normalize="sentences",
            clip_norm=5.0,
        )
        for system, model in models.items()
    }


if __name__ == "__main__":
    sys.exit(main())
