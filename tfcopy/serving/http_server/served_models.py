"""The models of a server, by the pair of languages that they translate."""

import collections
import functools
import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tfcopy import filesystem
from tfcopy.serving.client_library.answer_lines import (
    is_cut,
    may_be_cut,
    num_words,
    translations_of,
)
from tfcopy.serving.client_library.ask_texts import padded
from tfcopy.serving.client_library.exported_model import (
    ExportedModel,
    open_model,
)
from tfcopy.serving.client_library.local_model import (
    find_models,
    find_versions,
    is_saved_model,
)
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.serving.client_library.transport import server_of
from tfcopy.serving.http_server.api_messages import ApiError
from tfcopy.serving.http_server.kept_spans import Question
from tfcopy.serving.http_server.request_batches import RequestBatches

_LANGUAGE = r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*(?:@[a-z]+)?"
_PLACE = re.compile(rf"(?:({_LANGUAGE}):({_LANGUAGE})=)?(.+)", re.DOTALL)
# Words of the text that finds out how many a model reads.
_MANY_WORDS = 2000


class Place(NamedTuple):
    """Where a model is, and what it translates if it does not tell itself.

    Attributes:
        server: The address of the server, `None` for a folder.
        model: The folder, or the model's name on the server.
        pair: Codes of the languages, or `None`.
    """

    server: str | None
    model: str
    pair: tuple[str, str] | None


def places_of(text: str) -> list[Place]:
    """The places that an argument of the command names.

    Args:
        text: A folder of models, of one model's versions or of one version, or
            `ADDRESS/MODEL`, after `SOURCE:TARGET=` where the languages are not
            known.

    Raises:
        AskError: If it names none.
    """
    source, target, where = _PLACE.fullmatch(text).groups()
    pair = (source, target) if source else None
    server, name = server_of(where)
    if server is not None:
        if pair is None:
            raise AskError(
                f"{text}: of a server tell the languages and the model, as in "
                f"en:fr={where}."
            )
        return [Place(server, name, pair)]
    if not filesystem.isdir(where):
        raise AskError(f"{where}: no such folder.")
    folders = [where]
    if not is_saved_model(where) and not find_versions(where):
        folders = [os.path.join(where, name) for name in find_models(where)]
    if not folders:
        raise AskError(
            f"{where}: no exported models in it. Expected folders of folders "
            "named 1, 2, ... with a saved_model.pb each; recipes write them "
            "there."
        )
    if pair and len(folders) > 1:
        raise AskError(
            f"{text}: which of its models translates this? Found: "
            + ", ".join(folders)
            + "."
        )
    return [Place(None, folder, pair) for folder in folders]


class Translating(NamedTuple):
    """A model that translates.

    Attributes:
        model: An `ExportedModel`.
        pair: Codes of its languages.
        max_words: The words, or pieces, of a text that it reads.
    """

    model: ExportedModel
    pair: tuple[str, str]
    max_words: int

    @property
    def keeps_spans(self) -> bool:
        """Whether requests may have terms, and so spans, of their own."""
        return "with_glossary" in self.model.signatures


def load_all(
    places: Sequence[Place],
    tell: Callable[[str], None],
    *,
    max_words: int | None = None,
    deadline: float | None = None,
    **options,
) -> dict[tuple[str, str], Translating]:
    """The models of all places, by their languages.

    Args:
        places: Where they are.
        tell: Function of a line about a model that is left out.
        max_words: What `Translating` says, where the export does not tell.
        deadline: Seconds for a request to a server.
        **options: As in `open_model`: `batch_size`, `at_once`, `engine`,
            `trust`.

    Raises:
        AskError: If one cannot be loaded, two translate the same, or there is
            none.
    """
    models = {}
    for server, name, named in places:
        remote = {} if server is None else {"deadline": deadline}
        model = open_model(server, name, **options, **remote)
        if not model.translates:
            tell(f"{model.name}: left out, since it does not translate.")
            continue
        told = [model.config.get(f"{x}_language") for x in ("source", "target")]
        pair = named or tuple(told)
        if None in pair or (named is None and pair[0] == pair[1]):
            tell(
                f"{model.name}: left out, since its languages are not known. "
                f"Name them: SOURCE:TARGET={name}"
            )
            continue
        pair = tuple(x.replace("_", "-") for x in pair)
        if pair in models:
            raise AskError(
                f"{models[pair].model.name} and {model.name} both translate "
                f"{':'.join(pair)}. Name the one that is to be served."
            )
        words = max_words or model.config.get("max_source_length")
        models[pair] = Translating(model, pair, words or num_read(model))
    if not models:
        raise AskError("there is no model that translates.")
    return models


def num_read(model) -> int:
    """How many words of a text a model reads, as it shows."""
    texts = {"text": ["a " * _MANY_WORDS]}
    ((answer, *_),) = model.rows("analyse", texts, translations_of)
    return max(1, num_words(answer))


class ServedModel:
    """A model that answers the questions of concurrent requests.

    Args:
        translating: `Translating`.
        batches: Function of a function of a list of items to `RequestBatches`
            of them.
    """

    def __init__(
        self,
        translating: Translating,
        batches: Callable[[Callable], RequestBatches],
    ):
        self.max_words = translating.max_words
        self.keeps_spans = translating.keeps_spans
        self._model = translating.model
        names = ["serving_default", "analyse"]
        names += ["with_glossary"] * self.keeps_spans
        self._batches = {
            name: batches(functools.partial(self._ask, name)) for name in names
        }

    @property
    def num_waiting(self) -> int:
        """How many questions wait."""
        return sum(x.num_waiting for x in self._batches.values())

    async def answers(
        self,
        questions: Sequence[Question],
        alternatives: int = 0,
    ) -> list[list[str]]:
        """What the model answers, the best first.

        Args:
            questions: The questions.
            alternatives: How many more answers are wanted; there are none for
                questions with spans or phrases.

        Raises:
            ApiError: 400 if one is too long.
        """
        long = [x for x in questions if may_be_cut(x.text, self.max_words)]
        found = await self._batches["analyse"].ask(long)
        for question, (answer, *_) in zip(long, found):
            if is_cut(answer, self.max_words):
                text = question.restored(question.text)
                raise ApiError(
                    400,
                    "Invalid request: a sentence is too long for the model, "
                    f"which reads {self.max_words} words: {text[:60]!r}...",
                )
        asked = collections.defaultdict(list)
        for question in questions:
            name = "analyse" if alternatives else "serving_default"
            if question.spans or question.phrases:
                name = "with_glossary"
            asked[name].append(question)
        answered = {}
        for name, some in asked.items():
            for question, found in zip(
                some, await self._batches[name].ask(some)
            ):
                best = found[: alternatives + 1]
                answered[question] = [answer.text for answer in best]
        return [answered[x] for x in questions]

    async def close(self):
        """Ends what is under way."""
        for batches in self._batches.values():
            await batches.close()
        self._model.close()

    def _ask(self, name, questions):
        """Returns for each question of a batch its `Translation`s."""
        inputs = {"text": [x.text for x in questions]}
        if name == "with_glossary":
            terms = [[y.encode() for y in x.terms] for x in questions]
            inputs["glossary"] = padded(terms)
        return self._model.rows(name, inputs, translations_of)
