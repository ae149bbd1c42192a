"""Fills catalogues from a translation memory, and by a model."""

import collections
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tfcopy.data.corpora.catalog_lines import Entry
from tfcopy.data.text.accelerators import insert_mark, letter_of, remove_mark
from tfcopy.data.text.span_patterns import KINDS, places_of
from tfcopy.evaluation import calibration
from tfcopy.runtime import ask_texts
from tfcopy.runtime.batches import make_progress_bar
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.translation_records import (
    Translation,
    count_tokens,
    is_truncated,
    may_exceed_limit,
    read_translations,
)
from tfcopy.serving.catalogs.catalog_file import CatalogFile
from tfcopy.serving.catalogs.entries import Skipped, Suggestion
from tfcopy.serving.catalogs.entry_texts import EntryTexts
from tfcopy.serving.catalogs.memory import Memory

# Seconds between writes of translations, and the minimum as a multiple of the
# duration of a write: large catalogues take seconds.
_INTERVAL, _TIMES = 10.0, 20
# Defaults for servers, which do not send the facts of an export.
_MAX_WORDS = 200
_PROTECT = ("rst",)
# Formats of spans in catalogues that need no flag.
_USUAL = ("links", "html", "placeholders")
UNLIKELY = "with a score below --min_score"


class CatalogModel:
    """A model that translates the texts of catalogues.

    Args:
        model: An `ExportedModel`.
        options: Options of the command: `max_words`, by default the export's,
            or 200; `protect`, by default the export's formats, or rst, and
            `_USUAL`; `model_protect`, by default the export's, or none; and
            `glossary`.

    Raises:
        ModelError: If the model does not translate or reads no glossary, or the
            glossary cannot be read.
    """

    def __init__(self, model, options):
        if not model.translates:
            raise ModelError(
                f"{model.name}: not a model that translates texts."
            )
        config = model.config
        tokenizer = config.get("source_tokenizer", {})
        self.max_words = options.max_words or config.get(
            "max_source_length", _MAX_WORDS
        )
        # Formats that the model copies as a whole; empty if unknown.
        known = options.model_protect or tokenizer.get("protect")
        self.known = tuple(known or ())
        names = dict.fromkeys((*(self.known or _PROTECT), *_USUAL))
        # Specific formats come first, such as a link of reST before a tag.
        ranks = {name: rank for rank, name in enumerate(KINDS)}
        self.protect = options.protect or sorted(
            names, key=lambda x: ranks.get(x, -1)
        )
        # ISO 639 code of the target language; `None` if unknown.
        self.language = config.get("target_language")
        self.source_language = config.get("source_language")
        self.confidence = calibration.confidence_of(config)
        self.quality = calibration.quality(config)
        is_calibrated = self.confidence([]) is not None
        highest = 1 if is_calibrated else 0
        if (options.min_score or 0) > highest:
            form = "a share of at most 1" if is_calibrated else "at most 0"
            known = "" if is_calibrated else "not "
            raise ModelError(
                f"--min_score: expected {form}, since {model.name} is {known}"
                f"calibrated. Received: {options.min_score:g}."
            )
        self._model = model
        self._terms = None
        if options.glossary is not None:
            self._terms = ask_texts.read_glossary(model, options.glossary)

    def answers(
        self, questions: Sequence[str]
    ) -> Iterator[dict[str, Translation | None]]:
        """Translates texts, in batches of similar length.

        Args:
            questions: Distinct texts.

        Yields:
            Dicts from some of the texts to `Translation`s; `None` for texts
            that the model has truncated.
        """
        parts = {False: [], True: []}
        for text in sorted(questions, key=lambda x: (count_tokens(x), x)):
            parts[may_exceed_limit(text, self.max_words)].append(text)
        for are_long, texts in parts.items():
            size = self._model.chunk_size
            for start in range(0, len(texts), size):
                batch = texts[start : start + size]
                yield dict(zip(batch, self._answers(batch, are_long)))

    def _answers(self, texts, are_long):
        found, are_cut = [], [False] * len(texts)
        if are_long:  # It returns the tokens that were read.
            found = self._ask("analyse", texts)
            are_cut = [is_truncated(x, self.max_words) for x in found]
        if self._terms is not None:
            found = self._ask("with_glossary", texts, {"glossary": self._terms})
        elif not are_long:
            found = self._ask("serving_default", texts)
        return [None if cut else x for x, cut in zip(found, are_cut)]

    def _ask(self, signature, texts, more={}):
        """Returns the best `Translation` of each text."""

        def best(row):
            return read_translations(row, 1)[0]

        return self._model.rows(signature, {"text": texts}, best, more)


class Row(NamedTuple):
    """An entry that was open, and its outcome."""

    file: str
    entry: Entry
    outcome: Suggestion | Skipped


class CatalogReport(NamedTuple):
    """Outcomes for a catalogue.

    Attributes:
        name: Path of the catalogue.
        rows: `Row` of each open entry.
        num_credits: Number of entries for translators' names.
        quality: A sentence about the model, or `None`.
    """

    name: str
    rows: Sequence[Row]
    num_credits: int
    quality: str | None = None

    @property
    def left(self) -> Mapping[str, int]:
        """Returns the number of entries left open, by reason."""
        outcomes = (row.outcome for row in self.rows)
        reasons = [x.reason for x in outcomes if isinstance(x, Skipped)]
        return collections.Counter(reasons + [_CREDITS] * self.num_credits)

    @property
    def is_flawless(self) -> bool:
        """Returns whether all entries are filled, without any remarks."""
        outcomes = [row.outcome for row in self.rows]
        return not (self.left or any(x.lost or x.issues for x in outcomes))

    def __str__(self):
        if not self.rows and not self.num_credits:
            return f"{self.name}: nothing to fill."
        outcomes = [row.outcome for row in self.rows]
        done = [x for x in outcomes if not isinstance(x, Skipped)]
        told = [x for x in done if x.issues and not x.lost]
        noun = "entry" if len(done) == 1 else "entries"
        text = f"{self.name}: {len(done)} {noun} filled"
        for some, what in (
            ([x for x in done if x.score is None], "from memory"),
            ([x for x in done if x.lost], "with lost spans"),
            (told, "with other remarks"),
        ):
            if some:
                text += f", {len(some)} of them {what}"
        if self.left:
            counts = [f"{count} {why}" for why, count in self.left.items()]
            text += f"; left as they are: {', '.join(counts)}"
        return f"{text}."


def fill_all(
    files: Sequence[CatalogFile],
    model: CatalogModel | None,
    memory: Memory,
    options,
    report: Callable[[CatalogReport], None],
):
    """Fills catalogues, one after the other.

    Translations are written every few seconds, and after an error, so that a
    repeated call continues from there.

    Args:
        files: The catalogues.
        model: `CatalogModel`; `None` if there is nothing to fill.
        memory: `Memory` of existing translations.
        options: Options of the command, of which `fuzzy`, the minimum
            likeness of texts of the memory that are mentioned, and `min_score`
            are used.
        report: Function of the `CatalogReport` of each catalogue.
    """
    works = [CatalogJob(file, model, memory, options) for file in files]
    answers = {x: None for work in works for x in work.too_long}
    total = len(set().union(*(work.questions for work in works)) - {*answers})
    with make_progress_bar(total) as bar:
        for work in works:
            try:
                _ask(work, answers, model, bar)
            except BaseException:
                # The first error is reported.
                with contextlib.suppress(Exception):
                    work.write(answers)
                raise
            work.write(answers)
            bar.clear()
            report(work.finish(answers))


def _ask(work, answers, model, bar):
    written, pause = time.monotonic(), _INTERVAL
    new = [x for x in work.questions if x not in answers]
    for batch in model.answers(new) if new else ():
        answers.update(batch)
        bar.update(len(batch))
        begin = time.monotonic()
        if begin - written > pause:
            work.write(answers)
            written = time.monotonic()
            pause = max(_INTERVAL, _TIMES * (written - begin))


class CatalogJob:
    """A catalogue, and the texts of its open entries."""

    def __init__(self, file, model, memory, options):
        self.file, self._memory, self._options = file, memory, options
        self._model = model
        self.entries, self.known = [], {}
        self._done = {}  # by key
        own = Memory()
        own.add_entries(file.entries, file.name)
        for entry in file.open_entries:
            text = EntryTexts(entry, file.header, model.protect, model.known)
            found = own.exact(entry) or memory.exact(entry)
            if found is not None:
                origin = f"from {os.path.basename(found.name)}"
                self.known[entry.key] = text.suggest(found.forms, origin)
            else:
                self.entries.append(text)
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
        """Returns the outcomes that are known by now, by key."""
        for text in self.entries:
            key = text.entry.key
            if key not in self._done and answers.keys() >= set(text.questions):
                self._done[key] = self._apply_limits(text, answers)
        found = dict(self._done)
        self._put_accelerators_back(found)
        found |= self.known
        entries = {x.key: x for x in self.file.open_entries}
        return {k: self._writable(entries[k], x) for k, x in found.items()}

    def _apply_limits(self, text, answers):
        """Applies --min_score and --fuzzy to the model's outcome."""
        outcome = text.outcome(answers)
        if isinstance(outcome, Skipped):
            return outcome
        scores = [answers[x].score for x in text.questions]
        outcome = outcome._replace(confidence=self._model.confidence(scores))
        least, score = self._options.min_score, outcome.score
        if least is not None and least >= 0:
            score = score if outcome.confidence is None else outcome.confidence
        if least is not None and score < least:
            return Skipped(UNLIKELY, has_remark=False, suggestion=outcome)
        if self._options.fuzzy is None:
            return outcome
        known = self._memory.find(text.entry.singular, self._options.fuzzy)
        if known is None:
            return outcome
        return outcome._replace(
            origin=f"{known.likeness:.0f} % like {_shorten(known.source)}, "
            f"which is {_shorten(known.forms[0])} in "
            f"{os.path.basename(known.name)}"
        )

    def _put_accelerators_back(self, found):
        """Chooses accelerators of menus whose items are all translated."""
        waiting = {
            _menu(x.entry)
            for x in self.entries
            if x.marked.mark and x.entry.key not in found
        }
        used = collections.defaultdict(collections.Counter)
        for entry in self.file.entries:
            if mark := remove_mark(entry.singular or "").mark:
                letter = letter_of(entry.translations[0], mark)
                used[_menu(entry)][letter.lower()] += 1
        for text in self.entries:
            entry, (_, mark, letter) = text.entry, text.marked
            if mark and _menu(entry) in waiting:
                found.pop(entry.key, None)
            elif mark and not isinstance(found[entry.key], Skipped):
                form = found[entry.key].forms[0]
                if mark not in text.marked.text:
                    form = form.replace(mark, "")
                spans = places_of(form, text.names)
                menu = used[_menu(entry)]
                forms = {0: insert_mark(form, mark, letter, menu, spans)}
                found[entry.key] = found[entry.key]._replace(forms=forms)

    def _writable(self, entry, outcome):
        """Returns the outcome, or the reason why it cannot be written."""
        forms = outcome.forms.values()
        for objection in filter(None, map(entry.objection, forms)):
            return Skipped(objection)
        try:
            "".join(forms).encode(self.file.charset)
        except UnicodeEncodeError:
            return Skipped(
                f"{self.file.charset} lacks letters of its translation"
            )
        return outcome

    def write(self, answers):
        outcomes = self.outcomes(answers).items()
        self.file.write({k: x for k, x in outcomes if x.has_remark})

    def finish(self, answers):
        name, outcomes = self.file.name, self.outcomes(answers)
        entries = self.file.open_entries
        rows = [Row(name, entry, outcomes[entry.key]) for entry in entries]
        quality = self._model and self._model.quality
        return CatalogReport(name, rows, self.file.num_credits, quality)


_CREDITS = "for translators' names"


def _shorten(text):
    """Quotes a text in one line, truncated for a comment."""
    text = " ".join(text.split())
    return f'"{text[:80]}{"..." * (len(text) > 80)}"'


def _menu(entry):
    """Returns the key of the menu of an entry: its context or source file."""
    return entry.context or entry.file
