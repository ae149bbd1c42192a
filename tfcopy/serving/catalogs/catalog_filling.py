"""Catalogues that are read, filled and written again, whole or not at all."""

import collections
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tfcopy import filesystem
from tfcopy.atomic_files import replacement
from tfcopy.data.corpora import catalog_lines
from tfcopy.data.corpora.catalog_lines import Entry
from tfcopy.data.corpora.gettext_catalogs import Catalog, read_catalog
from tfcopy.data.text.accelerators import (
    letter_of,
    with_mark,
    without_mark,
)
from tfcopy.data.text.span_patterns import KINDS, places_of
from tfcopy.serving.catalogs import xliff
from tfcopy.serving.catalogs.entries import Left, Suggestion, filled
from tfcopy.serving.catalogs.entry_texts import Answer, EntryTexts
from tfcopy.serving.catalogs.memory import Memory
from tfcopy.serving.client_library import ask_texts
from tfcopy.serving.client_library.answer_lines import expecting_answers
from tfcopy.serving.client_library.batches import progress_bar
from tfcopy.serving.client_library.signatures import AskError

# Where the export does not tell, as it does not from a server.
_MAX_WORDS = 200
_PROTECT = ("rst",)
# What catalogues have without a flag.
_USUAL = ("links", "html", "placeholders")
# Pieces, or words and signs, that a word or a sign may be cut into.
_PIECES = 2
_END = b"</s>"
_WORD = re.compile(r"\w+|[^\w\s]")


class CatalogModel:
    """A model that translates, with what catalogues need to know of it.

    Args:
        model: A `LocalModel` or a `RemoteModel`.
        max_words: The words, or pieces, of a text that the model reads, its
            end not counted; by default what the export tells, or 200.
        protect: What spans are, as in `span_patterns.pattern_of`; by default
            what the export tells, or rst, and `_USUAL`.
        known: Which of these the model keeps whole; by default what the export
            tells, or none.
        glossary: Optional path of a file of terms and their translations.

    Raises:
        AskError: If the model does not translate or reads no glossary, or the
            glossary cannot be read.
    """

    def __init__(
        self,
        model,
        *,
        max_words: int | None = None,
        protect: Sequence[str] | None = None,
        known: Sequence[str] | None = None,
        glossary=None,
    ):
        analyse = model.signatures.get("analyse")
        if analyse is None or "copied_from" not in analyse.outputs:
            raise AskError(f"{model.name}: not a model that translates texts.")
        config = model.config
        tokenizer = config.get("source_tokenizer", {})
        self.max_words = max_words or config.get(
            "max_source_length", _MAX_WORDS
        )
        # What the model keeps whole; empty where it does not tell.
        self.known = tuple(known or tokenizer.get("protect") or ())
        usual = _USUAL if self.known or not config else ()
        own = self.known or _PROTECT
        names = dict.fromkeys((*own, *usual))
        # What is special comes first, as a link of reST before a tag.
        ranks = {name: rank for rank, name in enumerate(KINDS)}
        self.protect = protect or sorted(names, key=lambda x: ranks.get(x, -1))
        # ISO 639 code of what it translates to; `None` if it is not known.
        self.language = config.get("target_language")
        self.source_language = config.get("source_language")
        self._model = model
        self._terms = None
        if glossary is not None:
            self._terms = ask_texts.read_glossary(model, glossary)

    def answers(
        self, questions: Sequence[str]
    ) -> Iterator[dict[str, Answer | None]]:
        """Asks texts, those of similar length together.

        Args:
            questions: Texts, each once.

        Yields:
            Dicts from some of the texts to their answers, `None` for a text
            of which the model has read only the beginning.
        """
        ordered = sorted(questions, key=lambda x: (_size(x), x))
        # What may be too long is asked how it was read.
        num_short = sum(_PIECES * _size(x) <= self.max_words for x in ordered)
        for texts, may_be_cut in (
            (ordered[:num_short], False),
            (ordered[num_short:], True),
        ):
            size = self._model.chunk_size
            for start in range(0, len(texts), size):
                batch = texts[start : start + size]
                with expecting_answers(self._model):
                    answers = self._answers(batch, may_be_cut)
                yield dict(zip(batch, answers, strict=True))

    def _answers(self, texts, may_be_cut):
        signature, inputs = "serving_default", {"text": texts}
        is_cut = [False] * len(texts)
        if may_be_cut:
            signature = "analyse"
            outputs = self._model.ask(signature, inputs)
            is_cut = [self._is_cut(x) for x in outputs["source_tokens"]]
        if self._terms is not None:
            signature = "with_glossary"
            inputs["glossary"] = [self._terms] * len(texts)
        if signature != "analyse":
            outputs = self._model.ask(signature, inputs)
        return [
            None if cut else Answer(text.decode(errors="replace"), float(score))
            for text, score, cut in zip(
                outputs["text"], outputs["score"], is_cut, strict=True
            )
        ]

    def _is_cut(self, source_tokens):
        words = [word for word in source_tokens if word]
        return len(words) - (words[-1:] == [_END]) >= self.max_words


def _size(text):
    return len(_WORD.findall(text))


class CatalogFile:
    """A catalogue with entries to fill, and where it is written to.

    What others, or an earlier run, have done there is kept: each write fills
    what still waits for a translation in the file as it is then.

    Args:
        path: The catalogue.
        output: The file to write; the catalogue itself if not given. If it
            is there already, it must be that catalogue with entries filled.
        language: The language of the translations, where no header tells it.

    Raises:
        AskError: naming the line, if it cannot be filled.
        CorpusError: naming the line, if it is no catalogue.
    """

    def __init__(self, path, output=None, language: str | None = None):
        self.path = os.fspath(path)
        self.name = os.fspath(output or path)
        # A link stays a link.
        self._target = filesystem.realpath(self.name)
        self._is_xliff = xliff.is_xliff(path)
        catalog = self._checked(self.path)
        _check_header(self.path, catalog, language)
        self.header = catalog.header
        self.charset = catalog.charset
        self._text = catalog.text
        if self._is_there and not filesystem.samefile(path, self._target):
            other = self._checked(self.name)
            if not _is_continued(catalog.entries, other.entries):
                raise AskError(
                    f"{self.name} exists and is not {self.path} with entries "
                    "filled. Remove it, or choose another --output."
                )
            catalog = other
        self.entries = catalog.entries
        is_open = [entry for entry in self.entries if entry.is_open]
        self.open_entries = [x for x in is_open if not x.is_credits]
        # Those that only translators can fill.
        self.num_credits = len(is_open) - len(self.open_entries)

    def _checked(self, path) -> Catalog:
        """A catalogue in which each entry stands once."""
        if self._is_xliff:
            return xliff.read_xliff(path, _read(path))
        catalog = read_catalog(path)
        lines = {}
        for entry in catalog.entries:
            line = lines.setdefault(entry.key, entry.start + 1)
            if line != entry.start + 1:
                raise AskError(
                    f"{path}, line {entry.start + 1}: the entry of line "
                    f"{line} once more. `msguniq` removes one of them."
                )
        return catalog

    @property
    def _is_there(self):
        return filesystem.exists(self._target)

    def write(self, outcomes: Mapping) -> bool:
        """Fills what waits for a translation; returns whether that changed it.

        Args:
            outcomes: Dict from keys of entries to a `Suggestion` or `Left`.

        Raises:
            CorpusError: If it is no catalogue any more.
            OSError: naming the file; what was there before is still there.
        """
        before = None
        if self._is_there:
            form = xliff if self._is_xliff else catalog_lines
            before, _ = form.decoded(self._target, _read(self._target))
        fill = xliff.filled if self._is_xliff else filled
        text = fill(self.name, before or self._text, outcomes)
        if text == before:
            return False
        source = self.path if before is None else self._target
        with replacement(self._target) as new:
            with open(new, "wb") as file:
                file.write(text.encode(self.charset))
            if not filesystem.is_url(source):
                os.chmod(new, os.stat(source).st_mode & 0o7777)
        return True


def _read(path) -> bytes:
    try:
        with filesystem.open(path, "rb") as file:
            return file.read()
    except OSError as error:
        reason = error.strerror or error
        raise AskError(f"{path}: cannot be read ({reason}).") from error


_ADVICE = "`msginit` makes a catalogue with a header of a template"


def _check_header(path, catalog, language):
    """Refuses what gettext's programs would not know how to read."""
    header = catalog.header
    if not header.is_there and language:
        return
    if not header.is_there:
        raise AskError(
            f"{header.place}: expected a header that tells the charset; "
            f"{_ADVICE}, and --language does without."
        )
    if not header.text.strip():
        raise AskError(f"{header.place}: the header is empty; {_ADVICE}.")
    if not header.charset:
        raise AskError(
            f"{header.place}: the header tells no charset; {_ADVICE}."
        )
    if header.charset == "CHARSET":
        raise AskError(
            f"{header.place}: the header tells the charset CHARSET, as "
            f"templates do; {_ADVICE}."
        )


def _is_continued(entries, others):
    """Whether all that was translated in some entries is so in others."""
    return len(entries) == len(others) and all(
        one.key == other.key
        and one.plural == other.plural
        and (one.is_open or one.translations == other.translations)
        for one, other in zip(entries, others)
    )


# Seconds after which what was translated is written.
_INTERVAL = 10.0


UNLIKELY = "with a score below --min_score"


class Reuse(NamedTuple):
    """What else is known and wanted, beside the model.

    Attributes:
        memory: `Memory` of translations that exist.
        likeness: Per cent of its letters, at least, that make another text of
            the memory worth telling; `None` to tell of none.
        min_score: The model's suggestions below it are not taken; or `None`.
    """

    memory: Memory
    likeness: float | None = None
    min_score: float | None = None


class Row(NamedTuple):
    """An entry that waited for a translation, and what was done with it."""

    file: str
    entry: Entry
    outcome: Suggestion | Left


class Filled(NamedTuple):
    """What was done with a catalogue.

    Attributes:
        name: Its path.
        num_open: The number of entries that waited for a translation.
        num_filled: The number of those that have one now.
        num_lossy: The number of those without some span of their source.
        num_told: The number of other ones of which something is told.
        num_known: The number of those that a memory had.
        left: How many were left as they are, by the reasons.
        rows: What was done with each entry.
    """

    name: str
    num_open: int
    num_filled: int
    num_lossy: int
    num_told: int
    num_known: int
    left: Mapping[str, int]
    rows: Sequence[Row] = ()

    @property
    def is_flawless(self) -> bool:
        """Whether nothing was left, lost or told."""
        return not (self.num_lossy or self.num_told or self.left)

    def __str__(self):
        if not self.num_open and not self.left:
            return f"{self.name}: nothing to fill."
        noun = "entry" if self.num_filled == 1 else "entries"
        text = f"{self.name}: {self.num_filled} {noun} filled"
        if self.num_known:
            text += f", {self.num_known} of them from memory"
        if self.num_lossy:
            text += f", {self.num_lossy} of them with lost spans"
        if self.num_told:
            text += f", {self.num_told} of them with other remarks"
        if self.left:
            counts = [f"{count} {why}" for why, count in self.left.items()]
            text += f"; left as they are: {', '.join(counts)}"
        return f"{text}."


def fill_all(
    files: Sequence[CatalogFile],
    model: CatalogModel | None,
    report: Callable[[Filled], None],
    reuse: Reuse,
):
    """Fills catalogues, one after the other.

    What was translated is written every few seconds, and if an error ends it,
    so that a repeated call goes on from there.

    Args:
        files: The catalogues.
        model: What is asked; `None` if nothing is to be filled.
        report: Function of what was done with each.
        reuse: `Reuse`.
    """
    works = [_Work(file, model, reuse) for file in files]
    answers = {x: None for work in works for x in work.too_long}
    total = len(set().union(*(work.questions for work in works)) - {*answers})
    with progress_bar(total) as bar:
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

    def __init__(self, file, model, reuse):
        self.file, self._reuse = file, reuse
        self.entries, self.known = [], {}
        self._done = {}  # by the entries' keys
        own = Memory()
        own.add_entries(file.entries, file.name)
        for entry in file.open_entries:
            text = EntryTexts(entry, file.header, model.protect, model.known)
            found = own.exact(entry) or reuse.memory.exact(entry)
            if found is not None:
                origin = f"from {os.path.basename(found.name)}"
                self.known[entry.key] = text.known(found.forms, origin)
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
        """What is known of the entries by now, by their keys."""
        for text in self.entries:
            key = text.entry.key
            if key not in self._done and answers.keys() >= set(text.questions):
                self._done[key] = self._considered(text, text.outcome(answers))
        found = dict(self._done)
        self._put_accelerators_back(found)
        found |= self.known
        entries = {x.key: x for x in self.file.open_entries}
        return {k: self._writable(entries[k], x) for k, x in found.items()}

    def _considered(self, text, outcome):
        """An outcome of the model, beside what is known and wanted."""
        if isinstance(outcome, Left):
            return outcome
        least = self._reuse.min_score
        if least is not None and outcome.score < least:
            return Left(UNLIKELY, is_told=False)
        if self._reuse.likeness is None:
            return outcome
        known = self._reuse.memory.near(
            text.entry.singular, self._reuse.likeness
        )
        if known is None:
            return outcome
        origin = (
            f"{known.likeness:.0f} % like {_shortened(known.source)}, "
            f"which is {_shortened(known.forms[0])} in "
            f"{os.path.basename(known.name)}"
        )
        return outcome._replace(origin=origin)

    def _put_accelerators_back(self, found):
        """A menu's letters are chosen when all its items are translated."""
        waiting = {
            _menu(x.entry)
            for x in self.entries
            if x.marked.mark and x.entry.key not in found
        }
        used = collections.defaultdict(collections.Counter)
        for entry in self.file.entries:
            if mark := without_mark(entry.singular or "").mark:
                letter = letter_of(entry.translations[0], mark)
                used[_menu(entry)][letter.lower()] += 1
        for text in self.entries:
            entry, (_, mark, letter) = text.entry, text.marked
            if mark and _menu(entry) in waiting:
                found.pop(entry.key, None)
            elif mark and not isinstance(found[entry.key], Left):
                form = found[entry.key].forms[0]
                if mark not in text.marked.text:
                    form = form.replace(mark, "")
                spans = places_of(form, text.names)
                menu = used[_menu(entry)]
                forms = {0: with_mark(form, mark, letter, menu, spans)}
                found[entry.key] = found[entry.key]._replace(forms=forms)

    def _writable(self, entry, outcome):
        """What can be written in the file's form and charset, or why not."""
        forms = getattr(outcome, "forms", {}).values()
        if not all(map(entry.can_hold, forms)):
            return Left("its inline elements would not nest")
        try:
            "".join(forms).encode(self.file.charset)
        except UnicodeEncodeError:
            return Left(f"{self.file.charset} lacks letters of its translation")
        return outcome

    def write(self, answers):
        outcomes = self.outcomes(answers).items()
        told = {k: x for k, x in outcomes if getattr(x, "is_told", True)}
        self.file.write(told)

    def done(self, answers):
        by_key = self.outcomes(answers)
        outcomes = by_key.values()
        left = [x.reason for x in outcomes if isinstance(x, Left)]
        left += [_CREDITS] * self.file.num_credits
        lossy = [x for x in outcomes if getattr(x, "lost", ())]
        told = [x for x in outcomes if getattr(x, "told", ())]
        return Filled(
            self.file.name,
            len(self.file.open_entries),
            len(outcomes) - len(left) + self.file.num_credits,
            len(lossy),
            sum(not x.lost for x in told),
            len(self.known),
            collections.Counter(left),
            [
                Row(self.file.name, entry, by_key[entry.key])
                for entry in self.file.open_entries
            ],
        )


_CREDITS = "for translators' names"


def _shortened(text):
    """A text in quotes, on one line, and not too long for a comment."""
    text = " ".join(text.split())
    return f'"{text[:80]}{"..." * (len(text) > 80)}"'


def _menu(entry):
    """What tells the items of a menu from others: a context, or a file."""
    return entry.context or entry.file
