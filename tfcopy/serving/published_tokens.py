"""Tokens of published checkpoints: vocabularies, and how texts are cut.

A source is cut as the checkpoint's own tokenizer in `transformers` cuts it: by
the model of SentencePiece, with its own normalisation. Control characters are
blanks, and a special token that a text spells is text.

Files are read and checked here without TensorFlow, which takes seconds to load.
"""

import itertools
import json
import os
import pathlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from tfcopy import checked_files, filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.data.text.blanks import is_word
from tfcopy.tokens import SPECIAL_TOKENS

# Lists of fairseq, in the order of the ids, as `transformers` has them.
_LANGUAGES = pathlib.Path(__file__).with_name("published_languages.json")
# The first rows of NLLB-200, and of its model.
_FIRST_ROWS = ["<s>", "<pad>", "</s>", "<unk>"]
_FIRST_PIECES = ["<unk>", "<s>", "</s>"]


class SeveralLanguages(ValueError):
    """A checkpoint has several languages, of which none was chosen."""


class PublishedTokens(NamedTuple):
    """Tokens of a checkpoint.

    Attributes:
        pieces: Lists of the source's and the target's, by row; `""` of a row
            that has none.
        models: Content of the models of SentencePiece of both sides.
        special_ids: The checkpoint's rows of PAD, UNK, BOS and EOS.
        prefix: First token of sources, a language's; or `""`.
        start: Row of the token before BOS, if BOS is a language's; or `None`.
        never: Rows that no answer may have, such as those of languages.
    """

    pieces: tuple[list, list]
    models: tuple[bytes, bytes]
    special_ids: tuple[int, int, int, int]
    prefix: str = ""
    start: int | None = None
    never: Sequence[int] = ()

    def make(self, write_to, protect: Sequence[str] = ()) -> tuple:
        """Makes tokenizers and vocabularies.

        Args:
            write_to: Folder of the files of tokenizers, which must stay there.
            protect: As in `ProtectedTokenizer`.

        Returns:
            `(tokenizers, vocabularies)`, of source and target each.
        """
        # Late, since it takes seconds.
        from tfcopy import data
        from tfcopy.data.text.byte_pair_tokenizer import SPAN_PIECE
        from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer

        tokenizers, vocabularies = [], []
        for i, side in enumerate(("source", "target")):
            path = os.path.join(write_to, f"{side}.model")
            content = self.models[i] + SPAN_PIECE
            write_atomically(path, lambda file, x=content: file.write(x))
            prefix = "" if i else self.prefix
            own = data.SentencepieceTokenizer(
                path, as_typed=True, prefix=prefix
            )
            if protect:
                own = ProtectedTokenizer(own, tuple(protect), True, True)
            tokenizers.append(own)
            words = [
                # A vocabulary's file has one word on each line.
                x if is_word(x) and x not in SPECIAL_TOKENS else f"<row{row}>"
                for row, x in enumerate(self.pieces[i])
                if row not in self.special_ids
            ]
            vocabularies.append(data.Vocabulary([*SPECIAL_TOKENS, *words]))
        return tuple(tokenizers), tuple(vocabularies)


def read(folder, config: dict, source_language=None, target_language=None):
    """Reads the `PublishedTokens` of a checkpoint.

    Args:
        folder: Folder of "source.spm", "target.spm", "vocab.json" and maybe
            "target_vocab.json" of Marian; of "sentencepiece.bpe.model" and
            "vocab.json" of M2M-100 and SMaLL-100; or of the former alone, of
            NLLB-200.
        config: From `published_network.read_config`.
        source_language: Code of one of several source languages.
        target_language: The same of target languages; of Marian, the code
            between `>>` and `<<`.

    Raises:
        ValueError: In one line that names the file.
    """
    if config["model_type"] == "m2m_100":
        return _read_m2m_100(folder, config, source_language, target_language)
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
    found = [x for x in pieces[0] if x.startswith(">>") and x.endswith("<<")]
    codes, prefix = {x[2:-2]: x for x in found}, ""
    if codes:
        prefix = _choose("target", target_language, codes, paths[0])
    models = [
        _read_model(os.path.join(folder, f"{side}.spm"))[0]
        for side in ("source", "target")
    ]
    both = pieces[0], pieces[-1]
    return PublishedTokens(both, tuple(models), special_ids[0], prefix)


def _read_m2m_100(folder, config, source_language, target_language):
    """Reads the tokens of M2M-100, SMaLL-100 or NLLB-200."""
    own, path = read_settings(folder), os.path.join(folder, "vocab.json")
    model_path = os.path.join(folder, "sentencepiece.bpe.model")
    model, names = _read_model(model_path)
    if os.path.isfile(path):
        pieces, form = _read_pieces(path), "__{}__"
        kind = own.get("language_codes")
        rows = _list_rows(kind if kind == "wmt21" else "m2m100", len(pieces))
    else:
        path, form = model_path, "{}"
        if names[:3] != _FIRST_PIECES or own.get("legacy_behaviour"):
            raise ValueError(
                f"{path}: expected the first pieces {_FIRST_PIECES}, and no "
                "legacy_behaviour in tokenizer_config.json."
            )
        pieces = [*_FIRST_ROWS, *names[3:]]
        rows = _find_nllb_rows(folder, len(pieces))
    count, size = len(pieces), config["vocab_size"]
    pieces += [""] * (size - count)
    for code, row in rows.items():
        if not count <= row < size or pieces[row]:
            raise ValueError(
                f"{path}: expected the language {code} after {count} pieces, "
                f"within {size} rows by config.json, alone. Received: {row}."
            )
        pieces[row] = form.format(code)
    pad, unknown, start, end = _find_specials(path, pieces, config)
    first = row = _choose("target", target_language, rows, folder)
    if own.get("tokenizer_class") == "SMALL100Tokenizer":
        start, row = None, start
    else:
        del rows[target_language]  # BOS is no word of a source.
        first = _choose("source", source_language, rows, folder)
    both, specials = (pieces, pieces), (pad, unknown, row, end)
    never = [i for i, x in enumerate(pieces) if i >= count or x == "<s>"]
    return PublishedTokens(
        both, (model, model), specials, pieces[first], start, never
    )


def read_settings(folder) -> dict:
    """Returns the content of "tokenizer_config.json", `{}` without one."""
    path = os.path.join(folder, "tokenizer_config.json")
    return checked_files.read_json(path) if os.path.isfile(path) else {}


def _list_rows(kind, first):
    """Returns the rows of the languages of a published list, by code."""
    codes = json.loads(_LANGUAGES.read_text())[kind]
    return dict(zip(codes, itertools.count(first)))


def _find_nllb_rows(folder, first):
    """Returns the rows of languages, from "tokenizer.json" if there is one."""
    path = os.path.join(folder, "tokenizer.json")
    if not os.path.isfile(path):
        return _list_rows("nllb", first)
    content = checked_files.read_json(path)
    fields = {"added_tokens": [{"id": int, "content": str}]}
    checked_files.check_fields(path, content, fields)
    return {
        x["content"]: x.get("id") or 0
        for x in content["added_tokens"]
        if x and re.fullmatch("[a-z]{3}_[A-Z][a-z]{3}", x.get("content") or "")
    }


def _read_pieces(path, size=None):
    """Returns the pieces of a vocabulary in the order of their ids."""
    ids = checked_files.read_json(path)
    checked_files.check_fields(path, ids, {}, dict.fromkeys(ids, int))
    pieces = {number: piece for piece, number in ids.items()}
    size = len(ids) if size is None else size
    missing = {*range(size)} - pieces.keys()
    if missing or len(ids) > size:
        hole = f"; {min(missing)} is nobody's" if missing else ""
        raise ValueError(
            f"{path}: expected the ids 0 to {size - 1}, each once, by their "
            f"number or config.json. Received: {len(ids)} ids{hole}."
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


def _choose(side, language, known, path):
    """Returns what is known of a language."""
    if language in known:
        return known[language]
    given = "none" if language is None else repr(language)
    raise SeveralLanguages(
        f"--{side}_language: {path} has several {side} languages. Give one "
        f"of {', '.join(sorted(known))}. Received: {given}."
    )


def _read_model(path):
    """Returns a model of SentencePiece, and its pieces."""
    import sentencepiece

    data = filesystem.read_bytes(path)
    try:
        model = sentencepiece.SentencePieceProcessor(model_proto=data)
        pieces = model.id_to_piece([*range(len(model))])
    except RuntimeError:
        raise ValueError(f"{path}: not a model of SentencePiece.") from None
    if "<0x00>" in pieces:
        raise ValueError(f"{path}: models that fall back on bytes are unknown.")
    return data, pieces
