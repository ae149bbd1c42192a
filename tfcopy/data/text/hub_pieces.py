"""The tokenizers of KerasHub's pretrained models, as tokenizers of ours.

The pieces of a model are the words of a vocabulary: one that the source has
can be copied, as any word can.
"""

import json
import os
from typing import Any, NamedTuple

from tfcopy import tokens as special
from tfcopy.atomic_files import make_folder, write_atomically
from tfcopy.data.text.byte_pair_tokenizer import BytePairTokenizer
from tfcopy.data.text.byte_pairs import START, spelt
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.vocabulary import Vocabulary

_SPECIALS = special.SPECIAL_TOKENS


class HubPieces(NamedTuple):
    """How a pretrained model reads text.

    Attributes:
        tokenizer: A `BytePairTokenizer` or a `SentencepieceTokenizer`.
        vocabulary: `Vocabulary` of both sides.
        special_ids: The model's own ids of PAD, UNK, BOS and EOS.
    """

    tokenizer: Any
    vocabulary: Vocabulary
    special_ids: tuple[int, int, int, int]


def hub_pieces(tokenizer, folder) -> HubPieces:
    """Writes the files of a tokenizer of KerasHub, and reads them as ours.

    A target begins as the model was trained to begin it: BART's with the end
    of another sentence and a start symbol, `⟨s⟩`, that also begins a source;
    T5's with padding.

    Args:
        tokenizer: A `keras_hub.models.BartTokenizer` or `T5Tokenizer`, or
            another one of byte pairs or of SentencePiece.
        folder: Where the files are written, and have to stay.

    Raises:
        ValueError: If it is of another kind.
    """
    if getattr(tokenizer, "merges", None) is not None:
        read = _byte_pairs
    elif getattr(tokenizer, "proto", None) is not None:
        read = _sentencepiece
    else:
        raise ValueError(
            "`tokenizer` must be one of byte pairs or of SentencePiece, with "
            f"its vocabulary. Received: {tokenizer!r}."
        )
    make_folder(folder)
    own, data, words, special_ids = read(tokenizer, os.fspath(folder))
    write_atomically(own.model_file, lambda file: file.write(data))
    others = [x for i, x in enumerate(words) if i not in special_ids]
    vocabulary = Vocabulary([*_SPECIALS, *others])
    path = os.path.join(folder, "vocabulary.txt")
    return HubPieces(own, vocabulary.save(path), special_ids)


def _byte_pairs(tokenizer, folder):
    """The tokenizer, its file's content, all pieces, and the special ids."""
    numbers = dict(tokenizer.vocabulary)
    pieces = sorted(numbers, key=numbers.get)
    content = {
        "pieces": pieces,
        "merges": list(tokenizer.merges),
        "start": True,
    }
    words = [spelt(piece) for piece in pieces]
    words[numbers[_SPECIALS[special.BOS]]] = START
    end, padding = tokenizer.end_token_id, tokenizer.pad_token_id
    unknown = numbers.get(_SPECIALS[special.UNK], padding)
    own = BytePairTokenizer(os.path.join(folder, "pieces.json"))
    data = json.dumps(content).encode()
    return own, data, words, (padding, unknown, end, end)


def _sentencepiece(tokenizer, folder):
    """As `_byte_pairs`."""
    words = [
        # A vocabulary's file has one word on each line.
        piece if piece.split() == [piece] else f"<row{i}>"
        for i, piece in enumerate(tokenizer.get_vocabulary())
    ]
    end, padding = tokenizer.end_token_id, tokenizer.pad_token_id
    unknown = tokenizer.token_to_id(_SPECIALS[special.UNK])
    own = SentencepieceTokenizer(os.path.join(folder, "pieces.model"))
    return own, tokenizer.proto, words, (padding, unknown, padding, end)
