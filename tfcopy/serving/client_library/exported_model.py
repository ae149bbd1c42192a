"""The front door: an exported model, in a folder or on a server, in Python."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from tfcopy import filesystem
from tfcopy.serving.client_library import answer_lines, ask_texts, commands
from tfcopy.serving.client_library.answer_lines import (
    Translation,
    expecting_answers,
)
from tfcopy.serving.client_library.batches import in_batches
from tfcopy.serving.client_library.local_model import LocalModel
from tfcopy.serving.client_library.remote_model import RemoteModel
from tfcopy.serving.client_library.signatures import AskError, check_whole

_SERVERS = ("grpc", "http", "https")
_HOST_AND_PORT = re.compile(r"[^/\\]+:\d+")


def load(
    where,
    model: str | None = None,
    *,
    version: int | None = None,
    batch_size: int = 32,
    engine: str | None = None,
    trust: bool = False,
    **options,
) -> "ExportedModel":
    """Opens an exported model, to ask it.

    ```python
    with tfcopy.load("savedmodels/europarl_ps") as model:
        for answer in model.translate(["Mr Łukasz has the floor."]):
            print(answer.text)
    ```

    Args:
        where: A folder, of numbered versions or of one version, which may be a
            URL such as `gs://bucket/model`; or the address of TensorFlow
            Serving: `host:port` or `grpc://host:port` for gRPC
            (the extra `client`), `http://host:port` or `https://host:port` for
            REST.
        model: Name of the model on the server, or in a folder of several.
        version: Which version; the highest if not given.
        batch_size: Positive integer, the most texts of a batch.
        engine: What searches, of a folder: `"litert"` or `"tensorflow"`; LiteRT
            if not given, where the export has its programs and it is installed.
        trust: Whether the graph of a folder may have operations that no export
            has, such as writing files. They are run here, with your rights.
        **options: Of a server, as in `RemoteModel`: `label`, `at_once`,
            `deadline`, `retries`, `tls`, `root_certificate`.

    Raises:
        AskError: If there is no such model, or it cannot be loaded.
        RequestError: If the server does not answer; it is an `AskError`, too.
    """
    where = os.fspath(where)
    if not is_server(where):
        if options:
            raise AskError(
                f"{where}: a folder has no {', '.join(options)}; these are "
                "options of a server."
            )
        folder = where if model is None else os.path.join(where, model)
        return ExportedModel(
            LocalModel(
                folder,
                version,
                batch_size=batch_size,
                engine=engine,
                trust=trust,
            )
        )
    if model is None:
        raise AskError(f"{where}: which model of the server? Give its name.")
    return ExportedModel(
        RemoteModel(
            where, model, version=version, batch_size=batch_size, **options
        )
    )


def open_model(options, server: str | None = None):
    """The model that a command names, loaded here or on a server.

    Args:
        options: The command's options.
        server: The server's address, of a `RemoteModel`.

    Raises:
        AskError: If it cannot be asked.
    """
    if server is None:
        return LocalModel(
            options.model,
            options.version,
            batch_size=options.batch_size,
            **options.loading,
        )
    return RemoteModel(
        server,
        options.model,
        batch_size=options.batch_size,
        at_once=options.at_once,
        **commands.connection_options(options),
    )


def is_server(where: str) -> bool:
    """Returns whether a model's place is a server's address, not a folder."""
    if filesystem.is_url(where):
        return where.split("://")[0].lower() in _SERVERS
    return bool(_HOST_AND_PORT.fullmatch(where)) and not filesystem.exists(
        where
    )


class ExportedModel:
    """A model that answers texts; `load` opens one.

    Each method takes a list of texts, and answers them in batches of similar
    length, with a progress bar on a terminal. A model that reads several
    texts at once takes a list of dicts from their names (`inputs`) to texts.

    Args:
        model: A `LocalModel` or a `RemoteModel`.
    """

    def __init__(self, model):
        analysed = model.signatures.get("analyse")
        self.name = model.name
        # Names of the texts that it reads.
        self.inputs = [
            x for x in getattr(analysed, "inputs", ()) if x != "dictionary"
        ]
        if not self.inputs or "serving_default" not in model.signatures:
            raise AskError(
                f"{model.name}: not a model exported by tfcopy (it has no "
                "signatures 'serving_default' and 'analyse' of texts)."
            )
        self.translates = "copied_from" in analysed.outputs
        self._model = model

    def translate(
        self, texts: Iterable[str], glossary: Sequence[str] = ()
    ) -> list[Translation]:
        """The best answer to each text: its `text` and `score`.

        Args:
            texts: The texts.
            glossary: Lines `phrase<TAB>translation`; where a phrase stands in
                a text, the answer has the translation. For models that were
                trained with --protect.

        Raises:
            AskError: If the model does not translate or reads no glossary, or
                these are no texts.
        """
        self._check_translates("translate")
        signature, more = self._reading("glossary", glossary)

        def answer(row):
            text = row["text"].decode(errors="replace")
            return Translation(text, float(row["score"]))

        return self._ask(signature, texts, more, answer)

    def n_best(
        self, texts: Iterable[str], count: int | None = None
    ) -> list[list[Translation]]:
        """The best answers to each text, with their words.

        Args:
            texts: The texts.
            count: The most answers to a text; as many as the search had beams
                if not given.

        Returns:
            For each text its answers, the best first; of a word that was
            copied, `copied_from` tells the place in `source_tokens`.
        """
        self._check_translates("n_best")
        if count is not None:
            check_whole(1, count=count)

        def answer(row):
            return answer_lines.translations_of(row, count)

        return self._ask("analyse", texts, {}, answer)

    def answer(
        self, texts: Iterable, dictionary: Sequence[str] = ()
    ) -> list[dict]:
        """Answers whatever the model's task is: a label, a span, words.

        Args:
            texts: Texts, or dicts of them by the names in `inputs`.
            dictionary: Lines `headword<TAB>definition`, which replace the
                model's own definitions of these words.

        Returns:
            For each a dict of its outputs: texts, numbers, lists.
        """
        signature, more = self._reading("dictionary", dictionary)

        def answer(row):
            return {name: ask_texts.plain(x) for name, x in row.items()}

        return self._ask(signature, texts, more, answer)

    def analyse(
        self, texts: Iterable, dictionary: Sequence[str] = ()
    ) -> list[dict[str, np.ndarray]]:
        """All that the model tells about each text, such as its attention.

        Args:
            texts: Texts, or dicts of them by the names in `inputs`.
            dictionary: As in `answer`.

        Returns:
            For each a dict of arrays, texts as `bytes`: the outputs of the
            signature `analyse`, padded as the longest of its batch.
        """
        _, more = self._reading("dictionary", dictionary)
        if "dictionary" in self._model.signatures["analyse"].inputs:
            more = {"dictionary": list(dictionary)}
        return self._ask("analyse", texts, more, dict)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends what is under way on a server."""
        self._model.close()

    def _ask(self, signature, texts, more, answer):
        """Asks a signature about all texts.

        Args:
            signature: Its name.
            texts: As in `answer`.
            more: Dict of inputs that are the same for each text, lists.
            answer: Function of the outputs for a text to what is returned.
        """
        examples = self._examples(texts)

        def ask(batch):
            inputs = {name: [x[name] for x in batch] for name in self.inputs}
            inputs |= {name: [x] * len(batch) for name, x in more.items()}
            outputs = self._model.ask(signature, inputs)
            with expecting_answers(self._model):
                return [
                    answer(x) for x in answer_lines.rows(outputs, len(batch))
                ]

        def words(example):
            return sum(len(text.split()) for text in example.values())

        return in_batches(
            ask,
            examples,
            self._model.batch_size,
            at_once=self._model.at_once,
            words=words,
        )

    def _examples(self, texts):
        """Dicts from the names of texts to texts."""
        wrong = (str, bytes, Mapping, Set)
        if isinstance(texts, wrong) or not isinstance(texts, Iterable):
            raise AskError(
                "Expected a list, even of one text. Received: "
                f"{str(texts)[:80]!r}, of type {type(texts).__name__}."
            )
        names = self.inputs
        examples = []
        for number, text in enumerate(texts):
            example = text
            if len(names) == 1 and isinstance(text, (str, bytes)):
                example = {names[0]: text}
            if (
                not isinstance(example, Mapping)
                or set(example) != set(names)
                or not all(
                    isinstance(x, (str, bytes)) for x in example.values()
                )
            ):
                form = "a text"
                if len(names) > 1:
                    form = f"a dict of texts, {' and '.join(names)}"
                raise AskError(
                    f"{self.name}, element {number}: expected {form}. "
                    f"Received: {str(text)[:80]!r}, of type "
                    f"{type(text).__name__}."
                )
            examples.append(example)
        return examples

    def _check_translates(self, method):
        if not self.translates:
            raise AskError(
                f"{self.name}: the model does not translate, and has no "
                f"`{method}`: use `answer`."
            )

    def _reading(self, argument, lines):
        """The signature that reads lines as well as texts, and its inputs."""
        if not lines:
            return "serving_default", {}
        signature = f"with_{argument}"
        if signature not in self._model.signatures:
            raise AskError(f"{self.name}: the model reads no `{argument}`.")
        if isinstance(lines, (str, bytes)) or not isinstance(lines, Iterable):
            raise AskError(
                f"`{argument}`: expected a list of lines, even of one. "
                f"Received: {str(lines)[:80]!r}."
            )
        return signature, {argument: list(lines)}
