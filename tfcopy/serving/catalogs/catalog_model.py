"""A model with the settings for catalogues."""

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

# Defaults for servers, which do not send the facts of an export.
_MAX_WORDS = 200
_PROTECT = ("rst",)
# Formats of spans in catalogues that need no flag.
_USUAL = ("links", "html", "placeholders")


class CatalogModel:
    """A model that translates the texts of catalogues.

    Args:
        model: An `ExportedModel`.
        max_words: Maximum number of tokens of a text, without `</s>`; by
            default the export's, or 200.
        protect: Formats of spans, as in `span_patterns.pattern_of`; by default
            the export's, or rst, and `_USUAL`.
        known: Formats that the model copies as a whole; by default the
            export's, or none.
        glossary: Optional path of a file of terms and translations.

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
        # Formats that the model copies as a whole; empty if unknown.
        self.known = tuple(known or tokenizer.get("protect") or ())
        usual = _USUAL if self.known or not config else ()
        own = self.known or _PROTECT
        names = dict.fromkeys((*own, *usual))
        # Specific formats come first, such as a link of reST before a tag.
        ranks = {name: rank for rank, name in enumerate(KINDS)}
        self.protect = protect or sorted(names, key=lambda x: ranks.get(x, -1))
        # ISO 639 code of the target language; `None` if unknown.
        self.language = config.get("target_language")
        self.source_language = config.get("source_language")
        self._model = model
        self._terms = None
        if glossary is not None:
            self._terms = ask_texts.read_glossary(model, glossary)

    def answers(
        self, questions: Sequence[str]
    ) -> Iterator[dict[str, Translation | None]]:
        """Translates texts, in batches of similar length.

        Args:
            questions: Distinct texts.

        Yields:
            Dicts from some of the texts to `Translation`s; `None` for texts
            that the model has truncated.
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
        if are_long:  # It returns the tokens that were read.
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
