"""The front door: an exported model, in a folder or on a server, in Python."""

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

import numpy as np

from tfcopy.serving.client_library import answer_lines, ask_texts
from tfcopy.serving.client_library.answer_lines import Translation
from tfcopy.serving.client_library.batches import (
    in_batches,
    in_batches_by_length,
    joined,
)
from tfcopy.serving.client_library.signatures import (
    AskError,
    check_whole,
    text_arrays,
)
from tfcopy.serving.client_library.transport import is_server, server_of

# Batches for each of those at once, so that none waits long for another.
_ROUNDS = 4


def load(
    where,
    model: str | None = None,
    *,
    version: int | None = None,
    batch_size: int = 32,
    at_once: int | None = None,
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
            URL such as `gs://bucket/model`; or `ADDRESS/MODEL`, a model on a
            server, TensorFlow Serving. The address is `host:port` or
            `grpc://host:port` for gRPC (the extra `client`), `http://host:port`
            or `https://host:port` for REST.
        model: Name of the model on the server, or in a folder of several, if
            `where` does not end with it.
        version: Which version; the highest if not given.
        batch_size: Positive integer, the most texts of a batch.
        at_once: Positive integer, the most batches at a time; if not given,
            as many as the machine has cores, or 4 for a server.
        engine: What searches, of a folder: `"litert"` or `"tensorflow"`; LiteRT
            if not given, where the export has its programs and it is installed.
        trust: Whether the graph of a folder may have operations that no export
            has, such as writing files. They are run here, with your rights.
        **options: Of a server, as in `RemoteModel`: `label`, `deadline`,
            `retries`, `tls`, `root_certificate`.

    Raises:
        AskError: If there is no such model, or it cannot be loaded.
        RequestError: If the server does not answer; it is an `AskError`, too.
    """
    where = os.fspath(where)
    if model is None:
        address, model = server_of(where)
    elif is_server(where):
        address = where
    else:
        address, model = None, os.path.join(where, model)
    options |= {"engine": engine, "trust": trust, "at_once": at_once}
    opened = open_model(
        address, model, version=version, batch_size=batch_size, **options
    )
    # Refuses what is no export.
    opened.inputs
    return opened


def open_model(
    address: str | None,
    model: str,
    *,
    at_once: int | None = None,
    engine: str | None = None,
    trust: bool = False,
    **options,
) -> "ExportedModel":
    """Opens whatever model there is; arguments as of `load`, but for these.

    Args:
        address: The server's address; `None` for a folder.
        model: The folder, or the name on the server.
        **options: As in `LocalModel` or `RemoteModel`.
    """
    if at_once is not None:
        options["at_once"] = at_once
    # Late: neither asks for what the other needs.
    if address is not None:
        from tfcopy.serving.client_library.remote_model import RemoteModel

        return RemoteModel(address, model, **options)
    if others := options.keys() - {"version", "batch_size", "at_once"}:
        raise AskError(
            f"{model}: a folder has no {', '.join(sorted(others))}; these are "
            "options of a server."
        )
    from tfcopy.serving.client_library.local_model import LocalModel

    return LocalModel(model, engine=engine, trust=trust, **options)


class ExportedModel:
    """A model that answers texts; `load` opens one.

    Each method takes a list of texts, and answers them in batches of similar
    length, some at once, with a progress bar on a terminal. A model that reads
    several texts at once takes a list of dicts from their names (`inputs`) to
    texts. Threads may share it.

    An engine is a subclass that has `_ask_batch`, and sets these.

    Attributes:
        name: Its name, for messages.
        config: What the export remembered, a dict.
        signatures: Dict of `Signature`.
        batch_size: Positive integer, the most examples of a batch.
        at_once: Positive integer, the most batches at a time.
        again: Function that opens the same model.
    """

    batch_size = 32
    at_once = 1

    @functools.cached_property
    def inputs(self) -> list[str]:
        """Names of the texts that it reads.

        Raises:
            AskError: If it is no export of tfcopy.
        """
        default, analysed = (
            self.signatures[name].inputs.keys() - {"dictionary"}
            if name in self.signatures
            else set()
            for name in ("serving_default", "analyse")
        )
        if not default or default != analysed:
            raise AskError(
                f"{self.name}: not a model exported by tfcopy (it has no "
                "signatures 'serving_default' and 'analyse' of the same texts)."
            )
        return sorted(default)

    @property
    def translates(self) -> bool:
        """Returns whether it translates; others answer in their own way."""
        analyse = self.signatures.get("analyse")
        return analyse is not None and "copied_from" in analyse.outputs

    @property
    def chunk_size(self) -> int:
        """Returns the best number of examples for one call of `rows`."""
        rounds = _ROUNDS if self.at_once > 1 else 1
        return self.batch_size * self.at_once * rounds

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
            return answer_lines.translations_of(row)[0]

        return self._answers(signature, texts, more, answer)

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

        return self._answers("analyse", texts, {}, answer)

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
        return self._answers(signature, texts, more, ask_texts.plain)

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
        if "dictionary" in self.signatures["analyse"].inputs:
            more = {"dictionary": list(dictionary)}
        return self._answers("analyse", texts, more, dict)

    def ask(self, signature: str, inputs: Mapping) -> dict[str, np.ndarray]:
        """Calls a signature, batch by batch.

        Args:
            signature: Its name.
            inputs: Dict of its inputs: lists of texts, `bytes` or `str`, or
                of rows of as many texts each.

        Returns:
            Dict of arrays; texts are `bytes`. Where batches differ in size,
            words end with `b""`, places with -1 and numbers with 0.

        Raises:
            AskError: If the model has no such signature or other inputs, or
                fails; a `RequestError` if a server does not answer.
        """
        arrays, lengths = text_arrays(self, signature, inputs)
        if len(lengths) <= self.batch_size:
            return self._ask_batch(signature, arrays)

        def ask(rows):
            return self._ask_batch(signature, _taken(arrays, rows))

        rows, answers = zip(
            *in_batches_by_length(ask, lengths, self.batch_size, self.at_once)
        )
        places = np.argsort(np.concatenate(rows))
        return {
            name: joined([x[name] for x in answers])[places]
            for name in answers[0]
        }

    def rows(
        self,
        signature: str,
        inputs: Mapping,
        read: Callable = dict,
        more: Mapping = {},
        progress: bool = False,
    ) -> list:
        """Calls a signature, batch by batch, and reads its outputs row by row.

        Args:
            signature: Its name.
            inputs: As in `ask`.
            read: Function of the outputs for an example, a dict of arrays that
                are padded as the longest of its batch, to what is returned.
            more: Dict of inputs that are the same for all: lists of texts.
            progress: Whether to show a bar (on a terminal only).

        Raises:
            AskError: As in `ask`, and if `read` cannot read an answer.
        """
        arrays, lengths = text_arrays(self, signature, inputs, more)
        if len(lengths) <= self.batch_size:  # It needs no order.
            lengths = [0] * len(lengths)

        def ask(rows):
            with answer_lines.expecting_answers(self):
                outputs = self._ask_batch(signature, _taken(arrays, rows))
                return list(map(read, answer_lines.rows(outputs, len(rows))))

        return in_batches(
            ask,
            range(len(lengths)),
            self.batch_size,
            progress,
            self.at_once,
            lengths.__getitem__,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends what is under way, where that is on a server."""

    def __reduce__(self):
        # A copy, such as that of another process, has a graph of its own.
        return self.again, ()

    def _ask_batch(self, signature, arrays):
        """Calls a signature with at most `batch_size` examples."""
        raise NotImplementedError

    def _answers(self, signature, texts, more, read):
        """Returns the answers to all texts, as in `rows`."""
        examples = self._examples(texts)
        inputs = {name: [x[name] for x in examples] for name in self.inputs}
        return self.rows(signature, inputs, read, more, progress=True)

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
        if signature not in self.signatures:
            raise AskError(f"{self.name}: the model reads no `{argument}`.")
        if isinstance(lines, (str, bytes)) or not isinstance(lines, Iterable):
            raise AskError(
                f"`{argument}`: expected a list of lines, even of one. "
                f"Received: {str(lines)[:80]!r}."
            )
        return signature, {argument: list(lines)}


def _taken(arrays, rows):
    return {name: x[rows] for name, x in arrays.items()}
