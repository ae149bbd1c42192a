"""Scalars in TensorBoard: what they mean, and which charts to look at first.

A tag is `<group>/<name>`; the groups are `dev`, `train` and `test`. Systems
that are compared write the same tags, each in its own folder, and each chart
then shows a line for each of them.
"""

import re

from tensorboard.plugins.custom_scalar import layout_pb2, summary

_CATEGORIES = {"dev": "Validation", "train": "Training", "test": "Test"}

# Unit and meaning by name; scores of the test set are described separately. The
# charts are in this order, followed by those of other names.
_KNOWN = {
    "exact_match": ("%", "Answers that match exactly"),
    "accuracy": ("0 to 1", "Correct labels"),
    "error_rate": ("%", "Wrong answers"),
    "error_rate_pointed": ("%", "Wrong answers where the target is rare"),
    "error_rate_unpointed": ("%", "Wrong answers where it is frequent"),
    "f1": ("%", "F1 of the words of answers and references"),
    "perplexity": ("", "exp(loss)"),
    "after_oov": ("perplexity", "After out-of-vocabulary words"),
    "after_known": ("perplexity", "After words of the vocabulary"),
    "known_targets": ("perplexity", "Of the words of the vocabulary"),
    "loss": ("nats", "Negative log-likelihood of a word, or of a whole answer"),
    "penalty": ("nats", "What the objective adds to the loss"),
    "copied_words": ("0 to 1", "Target words that are labelled as copied"),
    "copy_probability": ("0 to 1", "Mean probability of copying"),
    "generate_probability": ("0 to 1", "Mean probability of generating"),
    "coverage_loss": ("", "Repeated attention, per target word"),
    "replan_share": ("0 to 1", "Target words at which the model replans"),
    "learning_rate": ("", "Of the optimizer"),
    "target_tokens_per_second": ("", "Target words trained on per second"),
    "examples_per_second": ("", "Examples trained on per second"),
    "gradient_norm": ("", "Global norm per update, before clipping"),
}
_PERPLEXITIES = ("perplexity", "after_oov", "after_known", "known_targets")


def describe(tag):
    """What a scalar means, with its unit; `None` if unknown."""
    group, _, name = tag.partition("/")
    if group == "test" and name not in _PERPLEXITIES:
        return "Of the test set, after training; shares in percent."
    if name not in _KNOWN:
        return None
    unit, meaning = _KNOWN[name]
    return f"{meaning}; {unit}." if unit else f"{meaning}."


def layout_summary(tags):
    """The layout of the Custom Scalars page, with a chart for each tag.

    TensorBoard shows the charts of all runs together, each chart once.

    Args:
        tags: Tags of scalars, those of the test set in the order wanted; those
            without a known group have no chart.

    Returns:
        A `Summary` as bytes, for `tf.summary.experimental.write_raw_pb`.
    """
    categories = []
    for group, title in _CATEGORIES.items():
        names = [
            tag.partition("/")[2] for tag in tags if tag.startswith(f"{group}/")
        ]
        if group != "test":
            names.sort(key=_place)
        charts = [
            layout_pb2.Chart(
                title=_title(group, name),
                multiline=layout_pb2.MultilineChartContent(
                    tag=[f"^{re.escape(f'{group}/{name}')}$"]
                ),
            )
            for name in names
        ]
        # Charts of other runs get lost if the first run lacks their category.
        if charts or group != "test":
            categories.append(layout_pb2.Category(title=title, chart=charts))
    layout = layout_pb2.Layout(category=categories)
    return summary.pb(layout).SerializeToString()


def _title(group, name):
    unit = _KNOWN[name][0] if name in _KNOWN and group != "test" else ""
    return f"{group}: {name.replace('_', ' ')}" + (unit and f" ({unit})")


def _place(name):
    names = list(_KNOWN)
    return (names.index(name) if name in names else len(names)), name
