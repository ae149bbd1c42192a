"""The models of a server, by the pair of languages that they translate."""

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tfcopy import filesystem
from tfcopy.serving.client_library.answer_lines import (
    expecting_answers,
    found,
    may_be_cut,
    num_words,
    rows,
    translates,
)
from tfcopy.serving.client_library.ask_texts import padded
from tfcopy.serving.client_library.exported_model import is_server
from tfcopy.serving.client_library.local_model import (
    LocalModel,
    find_models,
    find_versions,
    is_saved_model,
)
from tfcopy.serving.client_library.remote_model import RemoteModel
from tfcopy.serving.client_library.signatures import AskError
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
        where: A folder, or the address of a server.
        model: The model's name on the server, `None` for a folder.
        pair: Codes of the languages, or `None`.
    """

    where: str
    model: str | None
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
    address, _, name = where.rpartition("/")
    if is_server(address):
        if pair is None or not name:
            raise AskError(
                f"{text}: of a server tell the languages and the model, as in "
                f"en:fr={where if name else address + '/europarl_ps'}."
            )
        return [Place(address, name, pair)]
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
    return [Place(folder, None, pair) for folder in folders]


class Translating(NamedTuple):
    """A model that translates.

    Attributes:
        model: A `LocalModel` or a `RemoteModel`.
        pair: Codes of its languages.
        max_words: The words, or pieces, of a text that it reads.
    """

    model: object
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
    loading: Mapping = {},
    max_words: int | None = None,
    **options,
) -> dict[tuple[str, str], Translating]:
    """The models of all places, by their languages.

    Args:
        places: Where they are.
        tell: Function of a line about a model that is left out.
        loading: How an export is loaded, as in `LocalModel`: `engine`, `trust`.
        max_words: What `Translating` says, where the export does not tell.
        **options: Of both, `batch_size` and `at_once`; of `RemoteModel`,
            `deadline` and `retries`.

    Raises:
        AskError: If one cannot be loaded, two translate the same, or there is
            none.
    """
    models = {}
    local = {name: options[name] for name in ("batch_size", "at_once")}
    local |= loading
    for place in places:
        if place.model is None:
            model = LocalModel(place.where, **local)
        else:
            given = {name: x for name, x in options.items() if x is not None}
            model = RemoteModel(place.where, place.model, **given)
        if not translates(model):
            tell(f"{model.name}: left out, since it does not translate.")
            continue
        told = [model.config.get(f"{x}_language") for x in ("source", "target")]
        pair = place.pair or tuple(told)
        if None in pair or (place.pair is None and pair[0] == pair[1]):
            tell(
                f"{model.name}: left out, since its languages are not known. "
                f"Name them: SOURCE:TARGET={place.where}"
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
    outputs = model.ask("analyse", {"text": ["a " * _MANY_WORDS]})
    with expecting_answers(model):
        return max(1, num_words(outputs["source_tokens"][0]))


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
        read = await self._batches["analyse"].ask([(x.text, 1) for x in long])
        for question, (_, count) in zip(long, read):
            if count >= self.max_words:
                text = question.restored(question.text)
                raise ApiError(
                    400,
                    "Invalid request: a sentence is too long for the model, "
                    f"which reads {self.max_words} words: {text[:60]!r}...",
                )
        asked = _sorted(questions, alternatives)
        answered = {}
        for name, items in asked.items():
            if items:
                answers = await self._batches[name].ask(list(items.values()))
                answered |= {x: y for x, (y, _) in zip(items, answers)}
        return [answered[x] for x in questions]

    async def close(self):
        """Ends what is under way."""
        for batches in self._batches.values():
            await batches.close()
        self._model.close()

    def _ask(self, name, items):
        """Answers of a batch, and how many words of each text were read."""
        inputs = {"text": [text for text, _ in items]}
        if name == "with_glossary":
            encoded = ([x.encode() for x in kept.terms] for _, kept in items)
            inputs["glossary"] = padded(list(encoded))
        outputs = self._model.ask(name, inputs)
        with expecting_answers(self._model):
            answered = zip(rows(outputs, len(items)), items)
            if name == "analyse":
                return [_best(row, count) for row, (_, count) in answered]
            return [([_decoded(row["text"])], 0) for row, _ in answered]


def _sorted(questions, alternatives):
    """What is asked, by signatures: dicts from questions to items."""
    asked = {"serving_default": {}, "analyse": {}, "with_glossary": {}}
    for question in questions:
        name, more = "serving_default", None
        if question.spans or question.phrases:
            name, more = "with_glossary", question
        elif alternatives:
            name, more = "analyse", alternatives + 1
        asked[name][question] = question.text, more
    return asked


def _best(row, count):
    texts = [_decoded(row["texts"][i]) for i in found(row)[:count]]
    return texts, num_words(row["source_tokens"])


def _decoded(text):
    return text.decode(errors="replace")
