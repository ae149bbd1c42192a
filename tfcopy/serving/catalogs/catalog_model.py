"""A model that is asked the texts of catalogues, in batches."""

import re
from collections.abc import Iterator, Sequence

from tfcopy.serving.catalogs.entry_texts import Answer
from tfcopy.serving.client_library import ask_texts
from tfcopy.serving.client_library.answer_lines import expecting_answers
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
