"""The end of a run: what definitions have gained, and the best system."""

from collections.abc import Mapping

from tfcopy.experiments import export_choice
from tfcopy.experiments.definitions.word_sources import WordSources
from tfcopy.experiments.export_choice import ExportChoice
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
        score: Name of the figure that tells which system is the best, on the
            validation set.
        ends: The baseline, and the system that knows all words; see
            `gap_closed`.
        **more: What else results.json holds.

    Returns:
        What results.json holds.
    """
    closed = {}
    if run.config.corpus == "demo":
        of_gap = "after_oov" if score == "perplexity" else score
        closed = gap_closed(run.results, *ends, of_gap)
        print_gap(closed, *ends)
    best = best_system(run.results, sources, score)
    return run.finish(
        best,
        run.results[best.system][score],
        gap_closed=closed,
        of_dev=(),
        **more,
    )


def best_system(
    results: Mapping[str, Mapping],
    sources: Mapping[str, WordSources],
    score: str,
) -> ExportChoice:
    """The best system; of those that read definitions, if there are any.

    Args:
        results: Dict from systems to their results, with `dev_<score>`.
        sources: `WordSources` of each of them.
        score: Name of a figure.
    """
    reading = [x for x in results if sources[x].reads == "definitions"]
    return export_choice.best(
        score,
        {name: results[name][f"dev_{score}"] for name in reading or results},
        lowest=score == "perplexity",
    )


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
    better = max(reading, key=lambda name: results[name][f"dev_{score}"])
    return next(name for name in results if name != better), better


def gap_closed(
    results: Mapping[str, Mapping], baseline: str, best: str, score: str
) -> dict[str, float]:
    """How much of the gap between two systems the others close, in percent.

    Only where the invented words are those that training never shows: the
    baseline learns the others.

    Args:
        results: Dict from systems to their results, with those of the `groups`
            of examples.
        baseline: The system that cannot know these words.
        best: The system that knows them.
        score: Name of a figure.
    """
    if not {baseline, best} <= results.keys():
        return {}
    values = {name: x["groups"]["unseen"][score] for name, x in results.items()}
    low, high = values[baseline], values[best]
    return {
        name: round(100 * (value - low) / (high - low), 1)
        for name, value in values.items()
        if name not in (baseline, best) and high != low
    }


def print_gap(closed: Mapping[str, float], baseline: str, best: str):
    """Prints what `gap_closed` gives."""
    for name, share in closed.items():
        print(
            f"On words never seen in training, {name} closes {share:.0f} % "
            f"of the gap between {baseline}, which cannot know them, and "
            f"{best}, which can."
        )
