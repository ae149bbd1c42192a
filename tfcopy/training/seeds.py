"""Random numbers that depend only on the position in training."""

import numpy as np


def seed_states(model):
    """Returns the state variables of all seed generators of a model."""
    return [
        variable
        for variable in model.variables
        if variable.path.endswith("seed_generator_state")
    ]


def draw_seeds(count, seed, update, batch):
    """Draws the start of each seed generator, for one batch of one update.

    Dropout masks and noise are then a function of `(seed, update, batch)`:
    a resumed run draws what the undisturbed one would have drawn, and two
    replicas draw what one device would have drawn for the same two batches.

    Args:
        count: Number of seed generators.
        seed: The seed of the run.
        update: Number of updates made before this one.
        batch: Index of the batch within the update, over all replicas.

    Returns:
        int64 array of shape `(count,)`.
    """
    sequence = np.random.SeedSequence([seed, update, batch])
    return (sequence.generate_state(count) & 0x7FFFFFFF).astype(np.int64)
