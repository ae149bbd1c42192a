"""Dev scores against updates: the systems of a run in one picture.

Reference: Gulcehre et al., 2016, Figure 4.
"""

import os

import tensorflow as tf
from tensorboard.backend.event_processing import plugin_event_accumulator

from tfcopy.experiments import reporting
from tfcopy.experiments.optional_figures import figures


def history(log_dir, encoded):
    """A system's dev scores, from its TensorBoard events.

    Args:
        log_dir: Folder of the events.
        encoded: The validation set, an `EncodedCorpus`.

    Returns:
        Dict of two lists, `updates` and `nll`, nats per target.
    """
    events = plugin_event_accumulator.EventAccumulator(
        log_dir, size_guidance={"tensors": 0}
    )
    events.Reload()
    if "dev/loss" not in events.Tags()["tensors"]:
        return {"updates": [], "nll": []}
    tokens = encoded.num_target_tokens / len(encoded)
    rows = events.Tensors("dev/loss")
    losses = [float(tf.make_ndarray(row.tensor_proto)) for row in rows]
    return {
        "updates": [row.step for row in rows],
        "nll": [round(loss * tokens, 3) for loss in losses],
    }


def updates_to_reach(curve, level):
    """The first update of a `history` with a score as low, or `None`."""
    pairs = zip(curve["updates"], curve["nll"])
    return next((update for update, nll in pairs if nll <= level), None)


def print_lead(results):
    """Prints how soon each system reached the best score of the first."""
    (first, *others) = results
    best = min(results[first]["history"]["nll"], default=None)
    if best is None:
        return
    needed = updates_to_reach(results[first]["history"], best)
    for system in others:
        found = updates_to_reach(results[system]["history"], best)
        when = "never" if found is None else f"after {found:,}"
        print(
            f"{first}'s best dev score, {best:.4g} nats per target after "
            f"{needed:,} updates, was reached by {system} {when}."
        )


def draw(results, folder, y_label):
    """Writes `dev_nll.png` into the folder of a run, and to TensorBoard.

    Args:
        results: System to its results, with a `history`.
        folder: The run's folder.
        y_label: Unit of the scores.
    """
    if figures is None:
        return
    picture = figures.curves_figure(
        {
            system: (scores["history"]["updates"], scores["history"]["nll"])
            for system, scores in results.items()
        },
        "Validation set",
        "updates",
        y_label,
    )
    path = os.path.join(folder, "dev_nll.png")
    reporting.keep_picture(picture, path)
