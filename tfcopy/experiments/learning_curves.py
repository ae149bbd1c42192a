"""Dev scores against updates: the systems of a run in one picture.

Reference: Gulcehre et al., 2016, Figure 4.
"""

import math
import os

from tfcopy.experiments import reporting
from tfcopy.experiments.optional_figures import figures


def history(result, encoded):
    """A system's dev scores.

    Args:
        result: What its training gave, a `training.Result`.
        encoded: The validation set, an `EncodedCorpus`.

    Returns:
        Dict of two lists, `updates` and `nll`, nats per target.
    """
    tokens = encoded.num_target_tokens / len(encoded)
    return {
        "updates": [update for update, _ in result.dev_history],
        "nll": [round(loss * tokens, 3) for _, loss in result.dev_history],
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
        if found is None:
            own = min(results[system]["history"]["nll"], default=math.inf)
            when = f"was not reached by {system}, whose best is {own:.4g}"
        else:
            when = f"was reached by {system} after {found:,}"
        print(
            f"{first}'s best dev score, {best:.4g} nats per target after "
            f"{needed:,} updates, {when}."
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
