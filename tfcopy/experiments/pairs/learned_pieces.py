"""Models of pieces that a run learns from its training texts, once."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.experiments.pairs import pair_data


@dataclasses.dataclass(frozen=True)
class Pieces:
    """A model of pieces, learned when it is saved.

    Attributes:
        texts: What it is learned from; read several times.
        size: The value of the flag.
        flag: The flag that asks for it, for messages.
        train: `train_sentencepiece.train` or `train_bpe`.
        protect: Spans that are not cut.
    """

    texts: Any
    size: int
    flag: str
    train: Callable
    protect: Sequence[str] = ()

    def save(self, path) -> SentencepieceTokenizer:
        print(f"Learning the pieces of {self.flag} {self.size:,}.")
        try:
            self.train(self.texts, self.size, path, protect=self.protect)
        except ImportError as error:
            raise ValueError(
                f"{self.flag} needs SentencePiece: pip install "
                "'tfcopy[subwords]', or give a --sentencepiece_model."
            ) from error
        except ValueError as error:
            raise ValueError(f"{self.flag}: {error}") from error
        return SentencepieceTokenizer(path)


class Sides:
    """The texts of some sides of training pairs, one after the other."""

    def __init__(self, pairs: Iterable[tuple], sides: Sequence[int] = (0, 1)):
        self.pairs = pairs
        self.sides = sides

    def __iter__(self):
        for pair in self.pairs:
            for side in self.sides:
                yield pair_data.as_text(pair[side])


def learn_once(
    folder, name: str, corpus, pieces: Pieces
) -> SentencepieceTokenizer:
    """The tokenizer of pieces, learned or read if it was learned before.

    Args:
        folder: Where the model is kept.
        name: What its file is called, with `{}` for what it depends on.
        corpus: `TranslationCorpus`, whose training pairs have the texts.
        pieces: `Pieces`.
    """
    parts = [corpus.splits["train"].fingerprint, pieces.size]
    if pieces.protect:
        parts.append(list(pieces.protect))
    (tokenizer,) = pair_data.make_once(
        folder, [name], parts, lambda: [pieces], SentencepieceTokenizer
    )
    return tokenizer
