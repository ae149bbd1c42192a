"""Tokens of published checkpoints: vocabularies, and how texts are cut.

A source is cut as Hugging Face's `MarianTokenizer` cuts it: by the model of
SentencePiece, with its own normalisation. Control characters are blanks, and a
special token that a text spells is text.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from tfcopy import checked_files, filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.data.text.blanks import is_word
from tfcopy.data.text.byte_pair_tokenizer import SPAN_PIECE
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.tokens import SPECIAL_TOKENS


class PublishedTokens(NamedTuple):
    """Tokenizers and vocabularies of a checkpoint.

    Attributes:
        tokenizers: Of the source and of the target.
        vocabularies: The same.
        special_ids: The checkpoint's rows of PAD, UNK, BOS and EOS.
    """

    tokenizers: tuple
    vocabularies: tuple
    special_ids: tuple[int, int, int, int]


def read_marian(
    folder,
    config: dict,
    write_to,
    target_language: str | None = None,
    protect: Sequence[str] = (),
) -> PublishedTokens:
    """Reads the tokens of a checkpoint of Marian.

    Args:
        folder: Folder with "vocab.json" (and "target_vocab.json"), "source.spm"
            and "target.spm".
        config: From `published_network.read_config`.
        write_to: Folder of the files of tokenizers, which must stay there.
        target_language: The code between `>>` and `<<` of a checkpoint with
            several target languages.
        protect: As in `ProtectedTokenizer`.

    Raises:
        ValueError: In one line that names the file.
    """
    sizes = {"vocab.json": config["vocab_size"]}
    if not config.get("share_encoder_decoder_embeddings", True):
        rows = config.get("decoder_vocab_size") or config["vocab_size"]
        sizes["target_vocab.json"] = rows
    paths = [os.path.join(folder, name) for name in sizes]
    pieces = [*map(_read_pieces, paths, sizes.values())]
    special_ids = [_find_specials(*x, config) for x in zip(paths, pieces)]
    if special_ids[0] != special_ids[-1]:
        raise ValueError(
            f"{paths[-1]}: expected <unk> at {special_ids[0][1]}, as in "
            f"vocab.json. Received: {special_ids[-1][1]}."
        )
    prefix = _find_prefix(paths[0], pieces[0], target_language)
    vocabularies = [_make_vocabulary(x, special_ids[0]) for x in pieces]
    tokenizers = []
    for side, prefix in (("source", prefix), ("target", "")):
        model = _read_model(os.path.join(folder, f"{side}.spm"))
        path = os.path.join(write_to, f"{side}.model")
        write_atomically(path, lambda file, x=model: file.write(x))
        own = SentencepieceTokenizer(path, as_typed=True, prefix=prefix)
        if protect:
            own = ProtectedTokenizer(own, tuple(protect), True, True)
        tokenizers.append(own)
    vocabularies = vocabularies[0], vocabularies[-1]
    return PublishedTokens(tuple(tokenizers), vocabularies, special_ids[0])


def _read_pieces(path, size):
    """Returns the pieces of a vocabulary in the order of their ids."""
    ids = checked_files.read_json(path)
    checked_files.check_fields(path, ids, {}, dict.fromkeys(ids, int))
    pieces = {number: piece for piece, number in ids.items()}
    missing = {*range(size)} - pieces.keys()
    if missing or len(ids) > size:
        hole = f"; {min(missing)} is nobody's" if missing else ""
        raise ValueError(
            f"{path}: expected the ids 0 to {size - 1} by config.json, each "
            f"once. Received: {len(ids)} ids{hole}."
        )
    return [pieces[i] for i in range(size)]


def _find_specials(path, pieces, config):
    """Returns the rows of PAD, UNK, BOS and EOS."""
    for name, piece in (("pad_token_id", "<pad>"), ("eos_token_id", "</s>")):
        if config[name] >= len(pieces) or pieces[config[name]] != piece:
            raise ValueError(
                f"{path}: expected {piece} at {config[name]}, the {name} of "
                "config.json. Received: another piece."
            )
    if "<unk>" not in pieces:
        raise ValueError(f"{path}: there is no <unk>.")
    start = config["decoder_start_token_id"]
    unknown = pieces.index("<unk>")
    return config["pad_token_id"], unknown, start, config["eos_token_id"]


def _find_prefix(path, pieces, language):
    """Returns the first token of sources, which names their translations'."""
    found = [x for x in pieces if x.startswith(">>") and x.endswith("<<")]
    prefix = f">>{language}<<"
    if prefix in found or not found:
        return prefix if found else ""
    codes = ", ".join(sorted(x[2:-2] for x in found))
    given = "none" if language is None else repr(language)
    raise ValueError(
        f"--target_language: {path} has several target languages. Give one "
        f"of {codes}. Received: {given}."
    )


def _make_vocabulary(pieces, special_ids):
    words = [
        # A vocabulary's file has one word on each line.
        piece if is_word(piece) and piece not in SPECIAL_TOKENS else f"<row{i}>"
        for i, piece in enumerate(pieces)
        if i not in special_ids
    ]
    return Vocabulary([*SPECIAL_TOKENS, *words])


def _read_model(path):
    """Returns a model of SentencePiece that has `SPAN` as a piece."""
    import sentencepiece

    data = filesystem.read_bytes(path)
    try:
        model = sentencepiece.SentencePieceProcessor(model_proto=data)
        pieces = {*model.id_to_piece([*range(len(model))])}
    except RuntimeError:
        raise ValueError(f"{path}: not a model of SentencePiece.") from None
    if "<0x00>" in pieces:
        raise ValueError(f"{path}: models that fall back on bytes are unknown.")
    return data + SPAN_PIECE
