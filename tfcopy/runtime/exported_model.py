"""An exported model in Python, which answers texts in batches.

It may be in memory only while a cache of models has it.
"""

import collections
import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

import numpy as np

from tfcopy.runtime import ask_texts, batches, signatures, translation_records
from tfcopy.terminal import one_line

# Batches per thread in a chunk, so that no thread waits long for another.
_ROUNDS = 4


class ExportedModel:
    """A model that answers texts, as `load` returns it.

    Each method takes a list of texts and answers them in batches of similar
    length, several at a time, with a progress bar on a terminal. A model that
    reads several texts per example takes a list of dicts of texts by name (see
    `inputs`). Threads may share a model.

    Engines are subclasses, which implement `_ask_batch` and set the attributes.

    Attributes:
        name: Name for messages.
        config: Dict of facts that the export stores.
        signatures: Dict of `Signature`.
        batch_size: Positive integer, maximum number of examples in a batch.
        at_once: Positive integer, maximum number of concurrent batches.
        reopen: Function that opens the same model.
    """

    batch_size = 32
    at_once = 1

    @functools.cached_property
    def inputs(self) -> list[str]:
        """Returns the names of the texts that the model reads.

        Raises:
            ModelError: If it is not an export of tfcopy.
        """
        default, analysed = (
            self.signatures[name].inputs.keys() - {"dictionary"}
            if name in self.signatures
            else set()
            for name in ("serving_default", "analyse")
        )
        if not default or default != analysed:
            raise signatures.ModelError(
                f"{self.name}: not a model exported by tfcopy (it has no "
                "signatures 'serving_default' and 'analyse' of the same texts)."
            )
        return sorted(default)

    @property
    def translates(self) -> bool:
        """Returns whether the model translates."""
        analyse = self.signatures.get("analyse")
        return analyse is not None and "copied_from" in analyse.outputs

    @property
    def chunk_size(self) -> int:
        """Returns the best number of examples for one call of `rows`."""
        rounds = _ROUNDS if self.at_once > 1 else 1
        return self.batch_size * self.at_once * rounds

    def translate(
        self, texts: Iterable[str], glossary: Sequence[str] = ()
    ) -> list[translation_records.Translation]:
        """Translates texts.

        Args:
            texts: The texts.
            glossary: Lines `phrase<TAB>translation`. If a text contains a
                phrase, its translation contains the given one. For models that
                were trained with `--protect`.

        Raises:
            ModelError: If the model does not translate or reads no glossary, or
                the arguments are not texts.

        Returns:
            For each text the best hypothesis, with its `text` and `score`.
        """
        self._check_translates("translate")
        signature, extra = self._choose_signature("glossary", glossary)

        def answer(row):
            return translation_records.read_translations(row)[0]

        return self._answer_all(signature, texts, extra, answer)

    def n_best(
        self, texts: Iterable[str], count: int | None = None
    ) -> list[list[translation_records.Translation]]:
        """Returns the best hypotheses for each text, with their tokens.

        Args:
            texts: The texts.
            count: Maximum number of hypotheses for a text; by default the
                number of beams.

        Returns:
            For each text its hypotheses, the best first. For copied tokens,
            `copied_from` is the position in `source_tokens`.
        """
        self._check_translates("n_best")
        if count is not None:
            signatures.check_whole(1, count=count)

        def answer(row):
            return translation_records.read_translations(row, count)

        return self._answer_all("analyse", texts, {}, answer)

    def answer(
        self, texts: Iterable, dictionary: Sequence[str] = ()
    ) -> list[dict]:
        """Answers texts by the model's task: a label, a span, or words.

        Args:
            texts: Texts, or dicts of texts by the names in `inputs`.
            dictionary: Lines `headword<TAB>definition`, which replace the
                model's own definitions of these headwords.

        Returns:
            For each example a dict of outputs: texts, numbers and lists.
        """
        signature, extra = self._choose_signature("dictionary", dictionary)
        return self._answer_all(signature, texts, extra, ask_texts.to_python)

    def analyse(
        self, texts: Iterable, dictionary: Sequence[str] = ()
    ) -> list[dict[str, np.ndarray]]:
        """Returns all outputs for each text, such as the attention.

        Args:
            texts: Texts, or dicts of texts by the names in `inputs`.
            dictionary: As in `answer`.

        Returns:
            For each example a dict of arrays, texts as `bytes`: the outputs of
            the signature `analyse`, padded to the longest of its batch.
        """
        _, extra = self._choose_signature("dictionary", dictionary)
        if "dictionary" in self.signatures["analyse"].inputs:
            extra = {"dictionary": list(dictionary)}
        return self._answer_all("analyse", texts, extra, dict)

    def ask(self, signature: str, inputs: Mapping) -> dict[str, np.ndarray]:
        """Calls a signature, batch by batch.

        Args:
            signature: Name of the signature.
            inputs: Dict of inputs by name: lists of texts, `bytes` or `str`, or
                lists of rows with the same number of texts each.

        Returns:
            Dict of arrays; texts are `bytes`. Arrays of different batches are
            padded: texts with `b""`, integers with -1, other numbers with 0.

        Raises:
            ModelError: If the model has no such signature, takes other inputs,
                or fails, or a server does not answer.
        """
        arrays, lengths = signatures.text_arrays(self, signature, inputs)
        if len(lengths) <= self.batch_size:
            return self._ask_batch(signature, arrays)

        def ask(rows):
            return self._ask_batch(signature, _take(arrays, rows))

        rows, answers = zip(
            *batches.iter_batches_by_length(
                ask, lengths, self.batch_size, self.at_once
            )
        )
        places = np.argsort(np.concatenate(rows))
        return {
            name: batches.join_padded([x[name] for x in answers])[places]
            for name in answers[0]
        }

    def rows(
        self,
        signature: str,
        inputs: Mapping,
        read: Callable = dict,
        extra: Mapping = {},
        progress: bool = False,
    ) -> list:
        """Calls a signature, batch by batch, and reads its outputs row by row.

        Args:
            signature: Name of the signature.
            inputs: As in `ask`.
            read: Function applied to the outputs for each example: a dict of
                arrays, padded to the longest of its batch.
            extra: Dict of inputs that all examples share: lists of texts.
            progress: Whether to show a progress bar (on a terminal only).

        Raises:
            ModelError: As in `ask`, and if `read` fails.

        Returns:
            The results of `read`, in the order of the examples.
        """
        arrays, lengths = signatures.text_arrays(self, signature, inputs, extra)

        def ask(numbers):
            with translation_records.report_malformed_outputs(self):
                outputs = self._ask_batch(signature, _take(arrays, numbers))
                return [
                    read(x)
                    for x in translation_records.iter_examples(
                        outputs, len(numbers)
                    )
                ]

        numbers = np.arange(len(lengths))
        if len(numbers) <= self.batch_size:
            return ask(numbers) if lengths else []
        words = lengths.__getitem__
        return batches.map_batches(
            ask, numbers, self.batch_size, progress, self.at_once, words
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Does nothing: engines hold nothing that outlives them."""

    def __reduce__(self):
        # Another process needs a graph of its own.
        return self.reopen, ()

    def _ask_batch(self, signature, arrays):
        """Calls a signature on at most `batch_size` examples."""
        raise NotImplementedError

    def _answer_all(self, signature, texts, extra, read):
        """Returns the answers to all texts, as in `rows`."""
        examples = self._check_examples(texts)
        inputs = {name: [x[name] for x in examples] for name in self.inputs}
        return self.rows(signature, inputs, read, extra, progress=True)

    def _check_examples(self, texts):
        """Returns dicts of texts by name."""
        wrong = (str, bytes, Mapping, Set)
        if isinstance(texts, wrong) or not isinstance(texts, Iterable):
            raise signatures.ModelError(
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
                raise signatures.ModelError(
                    f"{self.name}, element {number}: expected {form}. "
                    f"Received: {str(text)[:80]!r}, of type "
                    f"{type(text).__name__}."
                )
            examples.append(example)
        return examples

    def _check_translates(self, method):
        if not self.translates:
            raise signatures.ModelError(
                f"{self.name}: the model does not translate, and has no "
                f"`{method}`: use `answer`."
            )

    def _choose_signature(self, argument, lines):
        """Returns the signature that takes extra lines, and its inputs."""
        if not lines:
            return "serving_default", {}
        signature = f"with_{argument}"
        if signature not in self.signatures:
            raise signatures.ModelError(
                f"{self.name}: the model reads no `{argument}`."
            )
        if isinstance(lines, (str, bytes)) or not isinstance(lines, Iterable):
            raise signatures.ModelError(
                f"`{argument}`: expected a list of lines, even of one. "
                f"Received: {str(lines)[:80]!r}."
            )
        return signature, {argument: list(lines)}


class ModelCache:
    """Cache of models in memory; the least recently used one is dropped.

    Args:
        count: Number of models that stay.
        open_model: Function of a key that opens its model. It opens one at a
            time, for the memory; others can be had meanwhile.
    """

    def __init__(self, count: int, open_model: Callable):
        self._count, self._open_model = count, open_model
        self._models = collections.OrderedDict()
        self._opening, self._using = threading.Lock(), threading.Lock()

    def get(self, key) -> ExportedModel:
        """Returns the model of a key."""
        model = self._get_loaded(key)
        if model is None:
            with self._opening:
                # Another thread may have opened it.
                model = self._get_loaded(key) or self._open(key)
        return model

    def _get_loaded(self, key):
        with self._using:
            if key in self._models:
                self._models.move_to_end(key)
            return self._models.get(key)

    def _open(self, key):
        model = self._open_model(key)
        with self._using:
            self._models[key] = model
            if len(self._models) > self._count:
                self._models.popitem(last=False)
        return model


class EvictableModel(ExportedModel):
    """A model of a folder that is in memory only while a cache has it.

    Args:
        model: The model, opened once: so a damaged one is found at the start.
        cache: The models in memory, by their `reopen`.
    """

    def __init__(self, model: ExportedModel, cache: ModelCache):
        self.name, self.config = model.name, model.config
        self.signatures, self.reopen = model.signatures, model.reopen
        self.batch_size, self.at_once = model.batch_size, model.at_once
        self._cache = cache

    def _ask_batch(self, signature, arrays):
        try:
            model = self._cache.get(self.reopen)
        except (signatures.ModelError, OSError) as error:
            # No fault of a text, so that the batch is not tried text by text.
            raise signatures.ModelError(
                one_line(error), signatures.UNAVAILABLE
            ) from error
        return model._ask_batch(signature, arrays)


def _take(arrays, rows):
    return {name: x[rows] for name, x in arrays.items()}
