"""Answers to a block of records, in batches of like length."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from tfcopy.error_lines import one_line
from tfcopy.serving.batch_answers.record_blocks import DICTIONARY, Block
from tfcopy.serving.client_library import answer_lines, server_flags
from tfcopy.serving.client_library.local_model import LocalModel
from tfcopy.serving.client_library.parallel_batches import in_batches_by_length
from tfcopy.serving.client_library.remote_model import RemoteModel
from tfcopy.serving.client_library.signatures import AskError


class Answers(NamedTuple):
    """What a model answers to a block.

    Attributes:
        block: The block.
        answers: For each record a text, an object of JSON, or `None`.
        failures: `(i, why)` of records without an answer.
    """

    block: Block
    answers: list
    failures: list[tuple[int, str]]


class Answerer:
    """A model that answers blocks.

    Args:
        model: A `LocalModel` or a `RemoteModel`.
        options: Those of `answer_lines.parser`, of which `json`, `dictionary`
            and `glossary` count.
        field: The field of records that holds the text, for models that read
            one; by default the model's name of it.

    Raises:
        AskError: If the model lacks what the options ask for.
    """

    def __init__(self, model, options, field: str | None = None):
        self._model = model
        self._ask = answer_lines.answering(model, options)
        self._is_json = options.json
        self._texts = sorted(
            model.signatures["serving_default"].inputs.keys() - {DICTIONARY}
        )
        self._fields = [*self._texts, DICTIONARY]
        if len(self._texts) == 1:
            self._fields = [field or self._texts[0]]

    def answer(self, block: Block) -> Answers:
        """Answers each record once; what cannot be answered is told.

        Raises:
            AskError: If the model does not answer any more.
        """
        lines, failures = {}, []
        for i, row in enumerate(block.rows(self._fields)):
            try:
                lines[i] = self._line(row)
            except AskError as error:
                failures.append((i, one_line(error)))
        answers = [None] * len(block)
        numbers = list(lines)

        def answered(rows):
            return list(self._answered([numbers[row] for row in rows], lines))

        for _, found in in_batches_by_length(
            answered,
            list(map(len, lines.values())),
            self._model.batch_size,
            self._model.at_once,
        ):
            for i, answer, why in found:
                answers[i] = answer
                if why is not None:
                    failures.append((i, why))
        return Answers(block, answers, sorted(failures))

    def _answered(self, numbers, lines) -> Iterator[tuple]:
        """Yields `(i, answer, None)`, or `(i, None, why)` of what fails."""
        try:
            with answer_lines.expecting_answers(self._model):
                found = list(self._ask([lines[i] for i in numbers]))
        except AskError as error:
            if len(numbers) > 1:
                middle = len(numbers) // 2
                for half in (numbers[:middle], numbers[middle:]):
                    yield from self._answered(half, lines)
                return
            self._check_alive()
            yield numbers[0], None, one_line(error)
            return
        for i, answer in zip(numbers, found, strict=True):
            text = answer.decode("utf-8", "replace")
            yield i, json.loads(text) if self._is_json else text, None

    def _check_alive(self):
        """Raises an AskError if not even the shortest text is answered.

        Then it is not a text's fault that it is not.
        """
        record = dict.fromkeys(self._texts, "a")
        line = b"a" if len(record) == 1 else json.dumps(record).encode()
        with answer_lines.expecting_answers(self._model):
            list(self._ask([line]))

    def _line(self, row):
        """The fields of a record as the line that `ask` reads."""
        if row is None:
            raise AskError("expected an object with fields, such as of JSON")
        row = {name: _decoded(x) for name, x in row.items()}
        texts = {}
        for name in self._fields[: len(self._texts)]:
            texts[name] = row.get(name)
            if not isinstance(texts[name], str):
                raise AskError(f'expected a text for "{name}"')
        if len(texts) == 1:
            return next(iter(texts.values())).encode("utf-8", "replace")
        terms = row.get(DICTIONARY)
        terms = [] if terms is None else terms
        if not isinstance(terms, list) or not all(
            isinstance(term, str) for term in terms
        ):
            raise AskError(f'"{DICTIONARY}" must be a list of texts')
        return json.dumps(texts | {DICTIONARY: terms}).encode()


def _decoded(value):
    """A value with texts in the place of their UTF-8."""
    if isinstance(value, list):
        return [_decoded(x) for x in value]
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError as error:
        raise AskError(
            f"not valid UTF-8 (byte 0x{value[error.start]:02x} at position "
            f"{error.start + 1})"
        ) from error


def load(options) -> Answerer:
    """The model that a command names, loaded here or on a server.

    Args:
        options: Those of the command `tfcopy.serving.batch`.

    Raises:
        AskError: If it cannot be asked.
    """
    if options.server is None:
        model = LocalModel(
            options.model,
            options.version,
            batch_size=options.batch_size,
            trust=options.trust,
        )
    else:
        model = RemoteModel(
            options.server,
            options.model,
            batch_size=options.batch_size,
            at_once=options.at_once,
            **server_flags.connection_options(options),
        )
    return Answerer(model, options, options.field)
