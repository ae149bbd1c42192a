"""The model that is asked to fill catalogues."""

from collections.abc import Iterator, Sequence

from tfcopy.data.text.span_patterns import KINDS
from tfcopy.serving.client_library import ask_texts
from tfcopy.serving.client_library.answer_lines import (
    Translation,
    is_cut,
    may_be_cut,
    size_of,
    translations_of,
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
        model: An `ExportedModel`.
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
        if not model.translates:
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
    ) -> Iterator[dict[str, Translation | None]]:
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
                yield dict(zip(batch, self._answers(batch, are_long)))

    def _answers(self, texts, are_long):
        found, are_cut = [], [False] * len(texts)
        if are_long:  # They are asked how they were read.
            found = self._ask("analyse", texts)
            are_cut = [is_cut(x, self.max_words) for x in found]
        if self._terms is not None:
            found = self._ask("with_glossary", texts, {"glossary": self._terms})
        elif not are_long:
            found = self._ask("serving_default", texts)
        return [None if cut else x for x, cut in zip(found, are_cut)]

    def _ask(self, signature, texts, more={}):
        """Returns the best `Translation` of each text."""

        def best(row):
            return translations_of(row, 1)[0]

        return self._model.rows(signature, {"text": texts}, best, more)
