"""Filling catalogues with a model's translations, and telling of it."""

import collections
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import tqdm

from tfcopy.serving.catalogs.catalog_files import CatalogFile
from tfcopy.serving.catalogs.catalog_model import CatalogModel
from tfcopy.serving.catalogs.entry_filling import Left
from tfcopy.serving.catalogs.entry_texts import EntryTexts

# Seconds after which what was translated is written.
_INTERVAL = 10.0


class Filled(NamedTuple):
    """What was done with a catalogue.

    Attributes:
        name: Its path.
        num_open: The number of entries that waited for a translation.
        num_filled: The number of those that have one now.
        num_lossy: The number of those without some span of their source.
        left: How many were left as they are, by the reasons.
    """

    name: str
    num_open: int
    num_filled: int
    num_lossy: int
    left: Mapping[str, int]

    def __str__(self):
        if not self.num_open:
            return f"{self.name}: nothing to fill."
        noun = "entry" if self.num_filled == 1 else "entries"
        text = f"{self.name}: {self.num_filled} {noun} filled"
        if self.num_lossy:
            text += f", {self.num_lossy} of them with lost spans"
        if self.left:
            counts = [f"{count} {why}" for why, count in self.left.items()]
            text += f"; left as they are: {', '.join(counts)}"
        return f"{text}."


def fill_all(
    files: Sequence[CatalogFile],
    model: CatalogModel | None,
    report: Callable[[Filled], None],
):
    """Fills catalogues, one after the other.

    What was translated is written every few seconds, and if an error ends it,
    so that a repeated call goes on from there.

    Args:
        files: The catalogues.
        model: What is asked; `None` if nothing is to be filled.
        report: Function of what was done with each.
    """
    works = [_Work(file, model) for file in files]
    answers = {x: None for work in works for x in work.too_long}
    total = len(set().union(*(work.questions for work in works)) - {*answers})
    with tqdm.tqdm(
        total=total,
        desc="Translating",
        unit=" texts",
        disable=None,  # where there is no terminal
        leave=False,
    ) as bar:
        for work in works:
            with _written_at_the_end(work, answers):
                _ask(work, answers, model, bar)
            bar.clear()
            report(work.done(answers))


def _ask(work, answers, model, bar):
    written = time.monotonic()
    new = [x for x in work.questions if x not in answers]
    for batch in model.answers(new) if new else ():
        answers.update(batch)
        bar.update(len(batch))
        if time.monotonic() - written > _INTERVAL:
            work.write(answers)
            written = time.monotonic()


@contextlib.contextmanager
def _written_at_the_end(work, answers):
    try:
        yield
    except BaseException:
        # What went wrong first is told.
        with contextlib.suppress(Exception):
            work.write(answers)
        raise
    work.write(answers)


class _Work:
    """A catalogue, and what its entries ask."""

    def __init__(self, file, model):
        self.file = file
        self.entries = [
            EntryTexts(entry, file.header.num_forms, model.protect)
            for entry in file.open_entries
        ]
        self.questions = list(
            dict.fromkeys(x for entry in self.entries for x in entry.questions)
        )
        self.too_long = [
            question
            for entry in self.entries
            for question in entry.questions
            if entry.num_words(question) > model.max_words
        ]

    def outcomes(self, answers):
        """What is known of the entries by now, by their keys."""
        return {
            entry.entry.key: entry.outcome(answers)
            for entry in self.entries
            if answers.keys() >= set(entry.questions)
        }

    def write(self, answers):
        self.file.write(self.outcomes(answers))

    def done(self, answers):
        outcomes = self.outcomes(answers).values()
        left = [x.reason for x in outcomes if isinstance(x, Left)]
        return Filled(
            self.file.name,
            len(self.entries),
            len(outcomes) - len(left),
            sum(bool(getattr(x, "lost", ())) for x in outcomes),
            collections.Counter(left),
        )
