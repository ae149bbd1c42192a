"""The model that is asked to fill catalogues."""

from collections.abc import Iterator, Sequence

from tfcopy.data.text.span_patterns import KINDS
from tfcopy.serving.catalogs.entry_texts import Answer
from tfcopy.serving.client_library import ask_texts
from tfcopy.serving.client_library.answer_lines import (
    expecting_answers,
    may_be_cut,
    num_words,
    size_of,
    translates,
)
from tfcopy.serving.client_library.signatures import AskError

# Where the export does not tell, as it does not from a server.
_MAX_WORDS = 200
_PROTECT = ("rst",)
# What catalogues have without a flag.
_USUAL = ("links", "html", "placeholders")


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
        if not translates(model):
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
        parts = {False: [], True: []}
        for text in sorted(questions, key=lambda x: (size_of(x), x)):
            parts[may_be_cut(text, self.max_words)].append(text)
        for are_long, texts in parts.items():
            size = self._model.chunk_size
            for start in range(0, len(texts), size):
                batch = texts[start : start + size]
                with expecting_answers(self._model):
                    answers = self._answers(batch, are_long)
                yield dict(zip(batch, answers, strict=True))

    def _answers(self, texts, are_long):
        inputs, is_cut = {"text": texts}, [False] * len(texts)
        if are_long:  # They are asked how they were read.
            outputs = self._model.ask("analyse", inputs)
            is_cut = [
                num_words(x) >= self.max_words for x in outputs["source_tokens"]
            ]
        if self._terms is not None:
            inputs["glossary"] = [self._terms] * len(texts)
            outputs = self._model.ask("with_glossary", inputs)
        elif not are_long:
            outputs = self._model.ask("serving_default", inputs)
        return [
            None if cut else Answer(text.decode(errors="replace"), float(score))
            for text, score, cut in zip(
                outputs["text"], outputs["score"], is_cut, strict=True
            )
        ]
