"""The end of a run: what definitions have gained, and the best system."""

from collections.abc import Mapping

from tfcopy.experiments.definitions.definition_demo import GROUPS
from tfcopy.experiments.definitions.word_sources import WordSources
from tfcopy.experiments.run import Run


def finish(
    run: Run,
    sources: Mapping[str, WordSources],
    score: str,
    ends: tuple[str, str],
    **more,
) -> dict:
    """Exports the best system, writes the results, says what to do next.

    Args:
        run: The run, with the results of its systems.
        sources: `WordSources` of each of them.
        score: Name of the figure that tells which system is the best.
        ends: The baseline, and the system that knows all words; see
            `gap_closed`.
        **more: What else results.json holds.

    Returns:
        What results.json holds.
    """
    closed = {}
    if run.config.corpus == "demo":
        # Only the invented words tell the systems apart.
        of_gap = "after_oov" if score == "perplexity" else score
        closed = gap_closed(run.results, *ends, of_gap)
        print_gap(closed, *ends)
    best = best_system(run.results, sources, score)
    return run.finish(
        best,
        {score: run.results[best][score]},
        gap_closed=closed,
        of_dev=(),
        **more,
    )


def best_system(
    results: Mapping[str, Mapping],
    sources: Mapping[str, WordSources],
    score: str,
) -> str:
    """The best system; of those that read definitions, if there are any."""
    reading = [x for x in results if sources[x].reads == "definitions"]
    best = min if score == "perplexity" else max
    return best(reading or results, key=lambda name: results[name][score])


def worse_and_better(
    results: Mapping[str, Mapping],
    sources: Mapping[str, WordSources],
    score: str,
) -> tuple[str, ...]:
    """Two systems to compare, the second of which reads more about words.

    Returns:
        The names; none if there is no such pair.
    """
    reading = [name for name in results if sources[name].reads_more]
    if not reading or len(results) < 2:
        return ()
    better = max(reading, key=lambda name: results[name][score])
    return next(name for name in results if name != better), better


def gap_closed(
    results: Mapping[str, Mapping], baseline: str, best: str, score: str
) -> dict:
    """How much of the gap between two systems the others close, in percent.

    Args:
        results: Dict from systems to their results, with those of the `groups`
            of examples.
        baseline: The system that cannot know invented words.
        best: The system that knows them.
        score: Name of a figure.

    Returns:
        Dict from systems to dicts from groups with invented words to percent.
    """
    if not {baseline, best} <= results.keys():
        return {}
    values = {
        name: {group: x["groups"][group][score] for group in GROUPS[1:]}
        for name, x in results.items()
    }
    low, high = values[baseline], values[best]
    return {
        name: {
            group: round(
                100 * (x[group] - low[group]) / (high[group] - low[group]), 1
            )
            for group in x
            if high[group] != low[group]
        }
        for name, x in values.items()
        if name not in (baseline, best)
    }


def print_gap(closed: Mapping[str, Mapping], baseline: str, best: str):
    """Prints what `gap_closed` gives."""
    for name, shares in closed.items():
        said = " and ".join(
            f"{share:.0f} % with {group} words"
            for group, share in shares.items()
        )
        print(
            f"{name} closes {said} of the gap between {baseline}, which cannot "
            f"know invented words, and {best}, which does."
        )
