"""Which system of a run is exported: the best one on the validation set."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping

_NUM_EXAMPLES = 200  # that choose, where answers have to be searched


@dataclasses.dataclass(frozen=True)
class ExportChoice:
    """The system to export.

    Attributes:
        system: Its key in `Run.systems`.
        metric: Name of the figure that chose it.
        scores: That figure on the validation set, of each system that could
            be chosen; none if there was only one.
    """

    system: str
    metric: str
    scores: Mapping[str, float]


def best(
    metric: str, scores: Mapping[str, float], lowest: bool = False
) -> ExportChoice:
    """The best system; of equal ones the last, which is the paper's own.

    Args:
        metric: Name of the figure.
        scores: That figure on the validation set, by system.
        lowest: Whether less of it is better.
    """
    order = min if lowest else max
    system = order(reversed(scores), key=scores.get)
    return ExportChoice(system, metric, dict(scores))


def best_answers(
    metric: str, systems: Mapping, pairs: Iterable, score: Callable
) -> ExportChoice:
    """The system with the best answers to the first validation examples.

    Perplexities would not do: a system that says `<unk>` has other events
    than one that copies.

    Args:
        metric: Name of the figure.
        systems: `System`s by name.
        pairs: The validation pairs, source and target.
        score: Function of answers and references to the figure, of which
            more is better.
    """
    if len(systems) == 1:
        return ExportChoice(*systems, metric, {})
    sources, references = zip(*itertools.islice(pairs, _NUM_EXAMPLES))

    def score_of(system):
        answers = system.served.translate_all(sources)
        return round(score([x.text for x in answers], references), 2)

    return best(metric, {name: score_of(x) for name, x in systems.items()})
