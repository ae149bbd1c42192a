"""Byte pairs as published with GPT-2 and BART, read in Python.

Their pieces are bytes, spelt with 256 visible characters. Here a piece is
spelt as its text, with `▁` for a blank, as those of SentencePiece are; one that
is no text of its own, such as half a character, is spelt `<0xE2><0x96>`.

Reference: [Sennrich et al., 2016](https://arxiv.org/abs/1508.07909); Radford et
al., 2019, "Language models are unsupervised multitask learners", section 2.2.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

BLANK = "▁"
# The symbol before each text, of models that were trained with one. Its
# brackets are no bytes, so that no piece of text is spelt like it.
START = "⟨s⟩"
# A byte of a piece that is no text.
BYTE = "<0x[0-9A-F]{2}>"


class BytePairs(NamedTuple):
    """Symbols and merges as arrays.

    Attributes:
        pieces: The symbols as we spell them.
        of_bytes: int32 `(256,)`, the symbol of each byte.
        pairs: int64, ascending, `left * len(pieces) + right` of each merge.
        ranks: int32, the rank of each of these.
        merged: int32, by rank, the symbol that the merge makes.
    """

    pieces: list[str]
    of_bytes: np.ndarray
    pairs: np.ndarray
    ranks: np.ndarray
    merged: np.ndarray

    @classmethod
    def make(cls, pieces: Sequence[str], merges: Sequence[str]) -> "BytePairs":
        """Makes them from a publisher's files.

        Args:
            pieces: As published, in any order.
            merges: Lines `left right`, the first one merged first.
        """
        symbols = {piece: i for i, piece in enumerate(pieces)}

        def number(symbol):  # Small vocabularies may lack some.
            return symbols.setdefault(symbol, len(symbols))

        of_bytes = [number(character) for character in _CHARACTERS]
        pairs = [line.split(" ") for line in merges if "#version:" not in line]
        merges = [(number(x), number(y), number(x + y)) for x, y in pairs]
        keys = np.array([x * len(symbols) + y for x, y, _ in merges], np.int64)
        ranks = np.argsort(keys, kind="stable").astype(np.int32)
        return cls(
            [spelt(symbol) for symbol in symbols],
            np.array(of_bytes, np.int32),
            keys[ranks],
            ranks,
            np.array([z for *_, z in merges], np.int32),
        )


def spelt(piece: str) -> str:
    """A published piece as we spell it; one spelling for each piece."""
    try:
        raw = bytes(_BYTES[character] for character in piece)
    except KeyError:
        return piece  # It is no byte pair, but some symbol.
    text = raw.decode(errors="replace")
    shown = text.replace(" ", BLANK)
    is_text = "\ufffd" not in text and BLANK not in text and text.isprintable()
    if is_text and shown.split() == [shown] and not re.search(BYTE, shown):
        return shown
    return "".join(f"<0x{byte:02X}>" for byte in raw)


def _visible_characters() -> list[str]:
    """The characters that stand for the bytes 0 to 255."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (byte for byte in range(256) if byte not in shown)
    codes = dict(zip(others, range(256, 512))) | {x: x for x in shown}
    return [chr(codes[byte]) for byte in range(256)]


_CHARACTERS = _visible_characters()
_BYTES: Mapping[str, int] = {x: byte for byte, x in enumerate(_CHARACTERS)}
