"""Reports of a recipe: tables, examples, curves, the choice of the export.

Reference of the curves: Gulcehre et al., 2016, Figure 4.
"""

import dataclasses
import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping

import tensorflow as tf

from tfcopy import filesystem
from tfcopy.evaluation import translations
from tfcopy.experiments.config import find_given_corpora
from tfcopy.serving.run_folder import is_run
from tfcopy.terminal import align_rows, to_one_line
from tfcopy.tokens import BLANK, START
from tfcopy.training.tensorboard import EventLog, log_table

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "matplotlib":
        raise
    figures = None
else:
    from tfcopy import figures


def mark_copied(translation, are_parts=False) -> str:
    """Joins the words of a translation, with copied ones in brackets.

    Args:
        translation: `Translation`.
        are_parts: Whether its tokens are characters or subwords, which
            are then joined; those copied one after another share their
            brackets.
    """
    pairs = zip(translation.tokens, translation.copied_from)
    if not are_parts:
        return " ".join(f"[{x}]" if place >= 0 else x for x, place in pairs)
    text = ""
    for copied, run in itertools.groupby(pairs, lambda pair: pair[1] >= 0):
        joined = "".join(token for token, _ in run if token != START)
        joined = joined.replace(BLANK, " ")
        text += f"[{joined}]" if copied else joined
    return text.strip()


def print_marked_examples(
    pairs, answers, rows=range(4), unit="tokens", titles={}
):
    """Shows answers, with copied tokens marked [so].

    Args:
        pairs: Sources and targets; what else a pair has is not shown.
        answers: Dict from a system's name to its `Translation`s.
        rows: Numbers of the pairs; those that do not exist are left out.
        unit: What tokens are called.
        titles: Dict from such a number to a line above the pair.
    """
    if not answers:
        return
    print(f"\nExamples from the test set ({unit} [copied] from the source):")
    width = max(map(len, [*answers, "reference"])) + 2
    for i in rows:
        if i >= len(pairs):
            break
        print()
        if i in titles:
            print(titles[i])
        source, target = pairs[i][:2]
        print_text("source", source, width)
        for system, found in answers.items():
            parts = unit in ("characters", "pieces")
            print_text(system, mark_copied(found[i], parts), width)
        print_text("reference", target, width)


def share(name, percent, total, interval="interval") -> dict:
    """Returns a percentage of examples and its 95 % interval, for results.json.

    Args:
        name: Name of the percentage.
        percent: From 0 to 100.
        total: Number of examples.
        interval: Name of the interval.
    """
    bounds = translations.interval(percent, total)
    return {
        name: round(percent, 2),
        interval: [round(bound, 2) for bound in bounds],
    }


def print_text(title, text, width=0):
    """Prints a text of the data, or of a model, after a title: one line."""
    print(f"{title:{width}}{to_one_line(text)}")


def print_answers(translator, sources, mark="  "):
    """Shows what a translator makes of some sources, after a mark."""
    answers = translator.translate_all(sources, progress=False)
    for source, found in zip(sources, answers):
        print_text("\n  ", source)
        print_text(mark, found.text)


def print_table(rows, columns, paper={}):
    """Prints figures, and below them the paper's.

    Args:
        rows: Dict from a title to a dict of figures; some may be missing.
        columns: Dict from a title to the name of a figure.
        paper: The paper's figures, by system.
    """
    rows = rows | {f"{system}, paper": x for system, x in paper.items()}
    table = [["", *columns]]
    for title, scores in rows.items():
        cells = (_figure(scores.get(name)) for name in columns.values())
        table.append([title, *cells])
    print("", *align_rows(table), sep="\n")


def _figure(value):
    """Formats a figure: integers in full, others to six digits."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def comparable_paper_scores(config, paper) -> dict:
    """Returns the paper's figures where a run's can be compared to them.

    They do not describe figures of data of one's own, unless the preset is the
    paper's: then the data are taken for the paper's.

    Args:
        config: The recipe's config.
        paper: The paper's figures, by system.
    """
    is_own = find_given_corpora(config, but_the_presets=True)
    return {} if is_own and config.preset != "paper" else paper


def keep_picture(picture, folder, name) -> str:
    """Writes a picture of a whole run as PNG, and to TensorBoard.

    Args:
        picture: An image made by `figures`.
        folder: The run's folder.
        name: The name of the picture.

    Returns:
        The path of the PNG.
    """
    path = os.path.join(folder, f"{name}.png")
    log = open_log(folder, name)
    with log.tolerate_errors():
        figures.save_png(path, picture)
        with log.writer.as_default(0):
            tf.summary.image(name, picture)
    log.close()
    return path


def history(result, encoded):
    """Returns a system's dev scores.

    Args:
        result: What its training gave, a `training.Result`.
        encoded: The validation set, an `EncodedCorpus`.

    Returns:
        Dict of two lists, `updates` and `nll`, and of the `unit` of the
        latter.
    """
    tokens = encoded.num_target_tokens / len(encoded)
    return {
        "updates": [update for update, _ in result.dev_history],
        "nll": [round(loss * tokens, 3) for _, loss in result.dev_history],
        "unit": "nats per target text",
    }


def updates_to_reach(curve, level):
    """Returns the first update of a `history` with a score as low."""
    pairs = zip(curve["updates"], curve["nll"])
    return next((update for update, nll in pairs if nll <= level), None)


def add_means(results, parts, metrics):
    """Adds the means of figures of a run's parts to each system's results."""
    for scores in results.values():
        for metric in metrics:
            values = [scores[part][metric] for part in parts]
            scores[metric] = round(sum(values) / len(values), 2)


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


# Of the figures of claims that are no percentages.
_UNITS = {"bleu": "BLEU", "rouge1": "ROUGE-1", "after_oov": "perplexity"}


def judge(config, results) -> list[dict]:
    """Compares systems as the claims of a paper do.

    Args:
        config: The flags, with `claims`. Nothing is expected of own data.
        results: Dict from the systems to their results.

    Returns:
        A dict for each claim: the `figures` of its two systems; whether it is
        `seen`, `"yes"`, `"no"`, or `"too close to tell"` where their 95 %
        intervals overlap, `None` if one is missing; and a `sentence`.
    """
    is_own = bool(find_given_corpora(config, config.preset != "demo"))
    return [_judge_claim(*x, results, is_own) for x in config.claims.items()]


def _judge_claim(claim, metric, results, is_own):
    better, *_, worse = claim.split()
    path = metric.removeprefix("-").split(".")
    figures = [_figure_in(results.get(x, {}), *path) for x in (better, worse)]
    values, lows, highs = zip(*figures)
    seen, text = None, "Not compared: this run does not have both figures"
    if None not in values:
        best = min(values) if metric.startswith("-") else max(values)
        seen = "yes" if values[0] == best else "no"
        if max(lows) <= min(highs):
            seen = "too close to tell"
        is_missed = seen != "yes" and not is_own
        unit = _UNITS.get(path[-1], "%")
        text = "Not seen here" if is_missed else "Seen"
        text += f": {values[0]:.4g} against {values[1]:.4g} {unit} ({seen})"
        text += "; see docs/results.md" * is_missed
    title = "The paper" if is_own else "Expected"
    return {
        "figures": dict(zip((better, worse), values)),
        "seen": seen,
        "sentence": f"{title}: {claim}. {text}.",
    }


def _figure_in(scores, *path):
    """Returns a figure and the bounds of its interval, or itself twice."""
    *parts, name = path
    for part in parts:
        scores = scores.get(part, {})
    figure = scores.get(name)
    interval = scores.get(f"{name}_interval", scores.get("interval"))
    return figure, *(interval or (figure, figure))


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
    keep_picture(picture, folder, "dev_nll")


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
    """Chooses the best system; of equal ones the last, the paper's own.

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
    """Chooses the system with the best answers on the validation set.

    Perplexities cannot be compared: a system that generates `<unk>` has other
    events than one that copies.

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


# The folder of what belongs to several systems.
ALL_SYSTEMS = "all_systems"
# Not the outcome of a test, but of training or of scoring the dev set.
_OTHERS = ("parameters", "updates", "best_update", "sequences", "pairs")


def open_log(folder, name):
    """Opens the `EventLog` of a run's picture or table, without older ones.

    Args:
        folder: The run's folder.
        name: The name of the picture or table.
    """
    return EventLog(os.path.join(folder, ALL_SYSTEMS), fresh=True, name=name)


def log_scores(folder, systems, of_dev):
    """Writes scores as scalars `test/...` of each system, and as a table.

    Args:
        folder: The run's folder.
        systems: System to its results, as in results.json. The results of a
            part, `{part: results}`, belong to the run in
            `<folder>/<part>/<system>` if there is one.
        of_dev: Names of figures that are scores of the dev set.
    """
    tags = {}
    for system, results in systems.items():
        parts = {k: v for k, v in results.items() if isinstance(v, dict)}
        for part, scores in {"": results, **parts}.items():
            run = os.path.join(folder, part, system)
            # A run within this one may have the name of a part.
            is_other = part and is_run(os.path.join(folder, part))
            if is_other or not filesystem.isdir(run):
                continue
            scores = _scores(scores, of_dev)
            log = EventLog(run, fresh=True, name="test")
            log.scalars(results.get("updates", 0), scores, prefix="test/")
            log.close()
            tags |= dict.fromkeys(f"test/{name}" for name in scores)
    log = open_log(folder, "results")
    with log.tolerate_errors():
        log_table(
            log.writer, 0, ("", *systems), _rows(systems.values()), "results"
        )
    log.layout(0, tags)
    log.close()


def _scores(results, of_dev):
    """Returns the finite figures of a test."""
    return {
        name: value
        for name, value in results.items()
        if _is_number(value)
        and name not in (*_OTHERS, *of_dev)
        and not name.startswith("dev_")
        and "second" not in name
    }


def _rows(results):
    """Yields a row for each figure, with a column for each system."""
    flat = [dict(_flat(one)) for one in results]
    for name in dict.fromkeys(name for one in flat for name in one):
        yield (name, *map(_figure, [one.get(name) for one in flat]))


def _flat(results, prefix=""):
    for name, value in results.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}/")
        elif _is_number(value):
            yield prefix + name, value


def _is_number(value):
    return isinstance(value, (int, float)) and math.isfinite(value)
