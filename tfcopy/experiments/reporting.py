"""What a recipe prints: tables, examples, and pictures of the whole run."""

import itertools
import os

import tensorflow as tf

from tfcopy.error_lines import shown
from tfcopy.experiments import run_events
from tfcopy.experiments.optional_figures import figures


def mark_copied(translation, are_parts=False) -> str:
    """The words of a translation, those that were copied in brackets.

    Args:
        translation: `Translation`.
        are_parts: Whether its tokens are characters or pieces of words, which
            are then joined; those copied one after another share their
            brackets.
    """
    pairs = zip(translation.tokens, translation.copied_from)
    if not are_parts:
        return " ".join(f"[{x}]" if place >= 0 else x for x, place in pairs)
    text = ""
    for copied, run in itertools.groupby(pairs, lambda pair: pair[1] >= 0):
        joined = "".join(token for token, _ in run).replace("▁", " ")
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
        for system, translations in answers.items():
            parts = unit in ("characters", "pieces")
            print_text(system, mark_copied(translations[i], parts), width)
        print_text("reference", target, width)


def print_text(title, text, width=0):
    """Prints a text of the data, or of a model, after a title: one line."""
    print(f"{title:{width}}{shown(text)}")


def print_table(rows, columns):
    """Prints figures.

    Args:
        rows: Dict from a title to a dict of figures; some may be missing.
        columns: Dict from a title to the name of a figure, or to a function
            that gives it from a row's dict.
    """
    width = max(map(len, rows))
    table = [list(columns)]
    for scores in rows.values():
        table.append(
            [
                _figure(name(scores) if callable(name) else scores.get(name))
                for name in columns.values()
            ]
        )
    widths = [max(map(len, cells)) + 2 for cells in zip(*table)]
    print()
    for title, cells in zip(["", *rows], table):
        line = "".join(f"{x:>{size}}" for x, size in zip(cells, widths))
        print(f"{title:{width}}{line}")


def _figure(value):
    """A figure as text: integers in full, others to six digits."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def beside(config, paper) -> dict:
    """The paper's figures, if they say something beside those of a run.

    They do not beside figures of data of one's own, unless the preset is the
    paper's: then the data are taken for the paper's.

    Args:
        config: The flags, with `preset`, `train`, `prepared` and `tfds`.
        paper: The paper's figures, by system.
    """
    is_own = config.train or config.prepared or config.tfds
    return {} if is_own and config.preset != "paper" else paper


def with_paper(results, paper) -> dict:
    """Rows of a table: the systems, then the paper's figures."""
    return {
        **results,
        **{f"{system}, paper": scores for system, scores in paper.items()},
    }


def keep_picture(picture, path):
    """Writes a picture of a whole run as PNG, and to TensorBoard.

    Args:
        picture: An image, as those of `figures`.
        path: The PNG in the run's folder; its name is that of the picture.
    """
    folder, file = os.path.split(path)
    name = os.path.splitext(file)[0]
    log = run_events.open_log(folder, name)
    with log.tolerating():
        figures.save_png(path, picture)
        with log.writer.as_default(0):
            tf.summary.image(name, picture)
    log.close()
