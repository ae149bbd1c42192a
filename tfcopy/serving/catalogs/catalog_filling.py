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
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.corpora.gettext_catalogs import open_catalog
from tfcopy.serving.catalogs.catalog_lines import Entry, entries_of, read_header
from tfcopy.serving.catalogs.entries import Answer, EntryTexts, Left, filled
from tfcopy.serving.client_library import ask_texts
from tfcopy.serving.client_library.answer_lines import expecting_answers
from tfcopy.serving.client_library.batches import progress_bar
from tfcopy.serving.client_library.signatures import AskError

# Where the export does not tell, as it does not from a server.
_MAX_WORDS = 200
_PROTECT = ("rst",)
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
        protect: What spans are, as in `lost_spans`; by default what the
            export tells, or rst.
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
        self.protect = protect or tokenizer.get("protect") or _PROTECT
        # ISO 639 code of what it translates to; `None` if it is not known.
        self.language = config.get("target_language")
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

    Raises:
        AskError: naming the line, if it cannot be filled.
    """

    def __init__(self, path, output=None):
        self.path = os.fspath(path)
        self.name = os.fspath(output or path)
        # A link stays a link.
        self._target = filesystem.realpath(self.name)
        self._text, entries = _checked(self.path)
        self.header = read_header(self.path, entries)
        if self._is_there and not filesystem.samefile(path, self._target):
            _, others = _checked(self.name)
            if not _is_continued(entries, others):
                raise AskError(
                    f"{self.name} exists and is not {self.path} with entries "
                    "filled. Remove it, or choose another --output."
                )
            entries = others
        self.open_entries = [entry for entry in entries if entry.is_open]

    @property
    def _is_there(self):
        return filesystem.exists(self._target)

    def write(self, outcomes: Mapping) -> bool:
        """Fills what waits for a translation; returns whether that changed it.

        Args:
            outcomes: Dict from keys of entries to a `Suggestion` or `Left`.

        Raises:
            AskError: If it is no catalogue any more.
            OSError: naming the file; what was there before is still there.
        """
        before = _read(self._target) if self._is_there else None
        text = filled(self.name, before or self._text, outcomes)
        if text == before:
            return False
        source = self.path if before is None else self._target
        with replacement(self._target) as new:
            with open(new, "wb") as file:
                file.write(text.encode())
            if not filesystem.is_url(source):
                os.chmod(new, os.stat(source).st_mode & 0o7777)
        return True


def _read(path) -> str:
    try:
        with filesystem.open(path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        reason = error.strerror or error
        raise AskError(f"{path}: cannot be read ({reason}).") from error
    except UnicodeDecodeError as error:
        raise AskError(f"{path}: not UTF-8.") from error


def _checked(path) -> tuple[str, list[Entry]]:
    """A catalogue's text and its entries."""
    try:
        catalog = open_catalog(path)
    except CorpusError as error:
        raise AskError(str(error)) from error
    text = _read(path)
    entries = entries_of(path, text.split("\n"))
    lines = {}
    for entry in entries:
        line = lines.setdefault(entry.key, entry.start + 1)
        if line != entry.start + 1:
            raise AskError(
                f"{path}, line {entry.start + 1}: the entry of line {line} "
                "once more. `msguniq` removes one of them."
            )
    # Another reader must find the same.
    found = sum(bool(x.msgid) for x in catalog if not x.obsolete)
    if found != sum(bool(x.singular) for x in entries):
        raise AskError(f"{path}: not a catalogue that all read alike.")
    return text, entries


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
