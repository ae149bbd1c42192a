"""Encoding of texts and decoding of hypotheses, as an export declares them.

The file `texts.json` has facts: tokenizers, vocabularies, limits, terms. These
are the twins of `read_sources` and `HypothesisWriter` in
`tfcopy.serving.servables.translation`, which an export compares with them.

Shapes: B texts, S source positions (with EOS), N hypotheses, T words of the
longest hypothesis, L maximum length.
"""

import hashlib
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tfcopy import checked_files, filesystem
from tfcopy import tokens as special
from tfcopy.runtime.signatures import Signature
from tfcopy.runtime.text_rules import Entities, Glossary, Pattern, TextTooLong
from tfcopy.runtime.text_tokenizers import make
from tfcopy.tokens import GOES_ON, MASKED, UNREAD

# Beside the programs of LiteRT, in the folder `assets.extra` of a version.
FILE_NAME = "texts.json"
FORMAT = 2
# Bytes of the file, and of each that it names.
_LARGEST_FILE = 1 << 25
_TOKENIZED = {"tokenizer": dict, "vocabulary": str}
_FIELDS = {
    **{"format": int, "files": {...: str}, "signatures": {...: str}},
    **dict.fromkeys(("source", "target"), _TOKENIZED),
    **dict.fromkeys(("max_source_length", "reach"), int),
    **dict.fromkeys(("append_eos", "replace_unk", "must_copy"), bool),
}
_OPTIONAL = {"glossary": dict, "entities": dict, "dictionary": {...: str}}
_UNK_WORD, _EOS_WORD = (
    special.SPECIAL_TOKENS[x].encode() for x in (special.UNK, special.EOS)
)
# Numbers of source positions are multiples of it. How sums are rounded depends
# on the shapes of the matrices multiplied, but, as was measured to the last bit
# with AVX-512, not between shapes of this multiple.
POSITIONS = 16
# Bytes for each token to begin with, as in `tokenization.readable_text`.
_BYTES, _GROWTH = 64, 16
_ANALYSIS = (
    *("attention", "copied_from", "generate_probability", "score", "scores"),
    *("source_tokens", "text", "texts", "tokens"),
)


class Sources(NamedTuple):
    """A batch of texts as a search reads them.

    Attributes:
        ids: int32 `(B, S)`.
        copy_ids: int32 `(B, S)`.
        protected: int32 `(B, S)`, the required tokens; `None` if there are
            none.
        tokens: B lists of tokens, with `</s>` if the model reads it.
        keys: B lists of `Entities`' keys of tokens; `None` without.
        terms: Pairs of phrases and translations, by their marks' numbers;
            `None` without.
        is_blank: B booleans; texts without a token.
    """

    ids: np.ndarray
    copy_ids: np.ndarray
    protected: np.ndarray | None
    tokens: list
    keys: list | None
    terms: list | None
    is_blank: list

    @property
    def longest(self) -> int:
        """Returns the number of positions of the longest text."""
        return max(map(len, self.tokens), default=0) or int(bool(self.tokens))


class TextFunctions:
    """Functions of an export before and after a search.

    Args:
        path: The file `texts.json`.
        folders: Folders of the files that it names.
        checksum: Its SHA-256, if it is known.

    Attributes:
        signatures: Dict of `Signature` by name.
        kinds: Dict from names of signatures to their kinds of search program.

    Raises:
        DamagedFileError: If it is damaged, or of another release.
        OSError: If a file cannot be read.
    """

    def __init__(self, path, *folders, checksum: str | None = None):
        self._path = path
        facts = checked_files.read_json(path, _read(path, checksum))
        if facts.get("format") != FORMAT:
            raise checked_files.DamagedFileError(
                f"{path} is of another release of tfcopy (format "
                f"{facts.get('format')!r}; this one reads {FORMAT}): export "
                "the model again"
            )
        checked_files.check_fields(path, facts, _FIELDS, _OPTIONAL)
        files = {
            name: _read_asset(path, name, checksum, folders)
            for name, checksum in facts["files"].items()
        }
        try:
            self._declare(facts, files)
        except Exception as error:  # Damage causes errors of all kinds.
            raise self._make_error("cannot be read", error) from None

    def _declare(self, facts, files):
        source, target = facts["source"], facts["target"]
        self._source, self._target = (
            make(x["tokenizer"], files) for x in (source, target)
        )
        self._words = _words_of(files[target["vocabulary"]])
        self._target_ids = _ids_of(self._words)
        self._source_ids = _ids_of(_words_of(files[source["vocabulary"]]))
        self._glossary = self._entities = None
        if facts.get("glossary"):
            self._glossary = Glossary(facts["glossary"], self._source)
        if facts.get("entities"):
            self._entities = Entities(facts["entities"])
        self._dictionary = {
            x.encode(): y.encode()
            for x, y in (facts.get("dictionary") or {}).items()
        }
        self._facts, self._last_word = facts, Pattern(r"\S*$")
        self.kinds = facts["signatures"]
        self.signatures = {}
        for name in self.kinds:
            inputs = {"text": 1}
            if name == "with_glossary":
                inputs["glossary"] = 2
            outputs = _ANALYSIS if name == "analyse" else ("score", "text")
            self.signatures[name] = Signature(inputs, outputs)

    def is_tie(self, tokens, others) -> bool:
        """Returns whether two ways to cut a source are equally probable."""
        return self._source.is_tie(tokens, others)

    def _make_error(self, what, error):
        return checked_files.DamagedFileError(
            f"{self._path} is damaged: it {what} ({type(error).__name__}: "
            f"{error})"
        )

    def read(
        self, texts: Sequence[bytes], lines: Sequence[Sequence[bytes]] = None
    ) -> Sources:
        """Encodes texts.

        Args:
            texts: B texts.
            lines: For each text the lines of a request's glossary.

        Raises:
            DamagedFileError: If the file makes no sense.
            TextTooLong: If a text is too long for its rules.
        """
        try:
            return self._read_texts(texts, lines)
        except TextTooLong:
            raise
        except Exception as error:  # Damage causes errors of all kinds.
            raise self._make_error("cannot encode a text", error) from error

    def _read_texts(self, texts, lines):
        facts, terms, needed = self._facts, None, None
        marks = [bytes] * len(texts)
        if facts["must_copy"]:
            needed = self._source.mark_needed
        if lines is not None or (self._glossary and self._glossary.is_always):
            lines = [()] * len(texts) if lines is None else lines
            marks, terms = self._glossary.marks(lines)
            needed = needed or self._glossary.is_mark
        longest = facts["max_source_length"]
        pairs = zip(texts, marks, strict=True)
        whole = [self._begin(text, mark, terms) for text, mark in pairs]
        tokens = [x[:longest] for x in whole]
        is_blank = [not x for x in tokens]
        protected = keys = None
        if needed is not None:
            kinds = [[*map(needed, x)] for x in whole]
            protected = [*map(self._find_protected, kinds)]
        if self._entities is not None:
            keys = [self._entities.keys(x) for x in tokens]
            tokens = [[*map(self._entities.surface, x)] for x in tokens]
        encoded = [self._encode(x) for x in keys or tokens]
        for (ids, _), row in zip(encoded, kinds if needed else ()):
            for i, kind in enumerate(row[:longest]):
                ids[i] = special.PAD if kind >= UNREAD else ids[i]
        if facts["append_eos"]:
            tokens = [[*x, _EOS_WORD] for x in tokens]
        width = max((len(ids) for ids, _ in encoded), default=0)
        width = -(-width // POSITIONS) * POSITIONS
        return Sources(
            _pad([x for x, _ in encoded], width, special.PAD),
            _pad([x for _, x in encoded], width, special.NO_COPY),
            None if protected is None else _pad(protected, width, 0),
            *(tokens, keys, terms, is_blank),
        )

    def _tokenize(self, text, terms):
        """Tokenizes a marked text.

        Spans that are cut in place leave no marks: phrases stay, and their
        translations, which no encoder reads, follow the text.
        """
        if terms is None or not self._source.in_place:
            return self._source.tokenize(text)
        text, wanted = self._glossary.demand(text, terms)
        tokens = map(self._target.tokenize_term, wanted)
        return [*self._source.tokenize(text), *itertools.chain(*tokens)]

    def _begin(self, text, mark, terms):
        """Tokenizes the part of a text that `readable_text` keeps.

        Terms are marked in that part alone: with thousands of them, a text of
        megabytes would take minutes.
        """
        count = self._facts["max_source_length"] + self._facts["reach"]
        size = _BYTES * count
        while len(text) > size:
            begun = text[:size]
            if self._source.cuts_words:
                begun = self._last_word.replace(begun, b"", everywhere=False)
            tokens = self._tokenize(mark(begun), terms)
            if len(tokens) >= count:
                return tokens
            size *= _GROWTH
        return self._tokenize(mark(text), terms)

    def _encode(self, tokens):
        """Returns ids and copy ids of tokens, as `encode_source`."""
        if not tokens and not self._facts["append_eos"]:
            tokens = [_UNK_WORD]
        size, first = len(self._words), {}
        words = map(self._source.fold, tokens)
        ids = [self._source_ids.get(x, special.UNK) for x in words]
        copy_ids = []
        for place, word in enumerate(map(self._target.fold, tokens)):
            place = first.setdefault(word, place)
            copy_id = self._target_ids.get(word, size + place)
            copy_ids.append(special.NO_COPY if word == _UNK_WORD else copy_id)
        if self._facts["append_eos"]:
            ids.append(special.EOS)
            copy_ids.append(special.NO_COPY)
        return ids, copy_ids

    def _find_protected(self, needed):
        """Returns which tokens are required; not a span that is cut off."""
        needed = [special.PROTECTED[x] for x in needed]
        longest = self._facts["max_source_length"]
        required, rest = needed[:longest], needed[longest:]
        if rest[:1] == [GOES_ON] and self._source.in_pieces:
            begins = [
                i for i, x in enumerate(required) if x not in (0, GOES_ON)
            ]
            for i in range(begins[-1] if begins else 0, len(required)):
                required[i] = 0
        return required

    def write(self, signature: str, sources: Sources, result: Mapping) -> dict:
        """Decodes the hypotheses of a search.

        Args:
            signature: Name of the signature.
            sources: The `Sources`.
            result: Dict of arrays of a `SearchResult`, `(B, N, L)`.

        Raises:
            DamagedFileError: If the file makes no sense.

        Returns:
            Dict of arrays by the names of the signature's outputs.
        """
        try:
            if signature != "analyse":
                return self._write_best(sources, result)
            return self._write_all(sources, result)
        except Exception as error:  # Damage causes errors of all kinds.
            raise self._make_error("cannot decode a text", error) from error

    def _write_best(self, sources, result):
        texts, scores = [], []
        for row in range(len(sources.tokens)):
            words, _ = self._words_of(sources, result, row, 0)
            beside = self._find_adjacent(sources.tokens[row])
            text = self._target.detokenize(words, *beside)
            texts += self._fill_terms(sources, [text], 1)
            is_blank = sources.is_blank[row]
            scores.append(0.0 if is_blank else result["scores"][row, 0])
        return {"text": strings(texts), "score": np.array(scores, np.float32)}

    def _write_all(self, sources, result):
        shape = rows, count, longest = result["ids"].shape
        lengths, texts, tokens = np.zeros(shape[:2], int), [], []
        found = {
            "scores": np.where(
                np.array(sources.is_blank)[:, None], 0, result["scores"]
            ).astype(np.float32),
            "copied_from": np.full(shape, special.GENERATE, np.int32),
            "generate_probability": result["generate_probs"].copy(),
            "attention": result["attention"][..., : sources.longest].copy(),
        }
        for row in range(rows):
            beside = self._find_adjacent(sources.tokens[row])
            for i in range(count):
                words, copied_from = self._words_of(sources, result, row, i)
                lengths[row, i] = len(words)
                found["copied_from"][row, i, : len(words)] = copied_from
                texts.append(self._target.detokenize(words, *beside))
                words += [b""] * (longest - len(words))
                tokens += map(self._source.unmark, words)
        texts, tokens = (
            self._fill_terms(sources, x, 1) for x in (texts, tokens)
        )
        found["texts"] = strings(texts, shape[:2])
        found["tokens"] = strings(tokens, shape)
        is_word = np.arange(longest) < lengths[..., None]
        found["generate_probability"][~is_word] = 0
        found["attention"][~is_word] = 0
        for name in ("tokens", "copied_from", "generate_probability"):
            found[name] = found[name][..., : lengths.max(initial=0)]
        found["attention"] = found["attention"][:, :, : lengths.max(initial=0)]
        _drop_duplicates(found)
        source_tokens = [
            self._fill_terms(sources, map(self._source.unmark, x), 0)
            for x in sources.tokens
        ]
        found["text"], found["score"] = (
            found[x][:, 0] for x in ("texts", "scores")
        )
        found["source_tokens"] = pad_texts(source_tokens, sources.longest)
        return {name: found[name] for name in _ANALYSIS}

    def _fill_terms(self, sources, texts, side):
        """Replaces marks of terms by phrases, 0, or by translations, 1."""
        if sources.terms is None:
            return [*texts]
        terms = [x[side] for x in sources.terms]
        return [self._glossary.unmark(x, terms) for x in texts]

    def _words_of(self, sources, result, row, i):
        """Returns the words of a hypothesis, and where each was copied from."""
        if sources.is_blank[row]:
            return [], []
        size, copied_from = len(self._words), []
        own, tokens = sources.tokens[row], []
        for step, word in enumerate(result["ids"][row, i].tolist()):
            if word in (special.PAD, special.EOS):
                break
            place = int(result["copied_from"][row, i, step])
            if word >= size and place < 0:
                place = word - size
            token = self._words[word if word < size else special.PAD]
            if sources.keys is not None:
                token = self._entities.restore(token, sources.keys[row], own)
            if self._facts["replace_unk"] and token == _UNK_WORD:
                attention = result["attention"][row, i, step]
                width = sources.copy_ids.shape[1]
                can = sources.copy_ids[row] != special.NO_COPY
                if can.any():
                    attention = np.where(can, attention[:width], -1)
                    place = int(attention.argmax())
            if place >= 0:
                token = self._dictionary.get(own[place]) or own[place]
            tokens.append(token)
            copied_from.append(max(place, special.GENERATE))
        return tokens, copied_from

    def _find_adjacent(self, tokens):
        """Returns the further arguments of `detokenize`."""
        # Only where both tokenizers have spans, a glossary is declared.
        return [self._source.find_adjacent(tokens)] if self._glossary else []


def strings(values, shape=-1) -> np.ndarray:
    """Returns an array of `bytes`."""
    values = list(values)
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def _read(path, checksum):
    with filesystem.open(path, "rb") as file:
        data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise checked_files.DamagedFileError(f"{path} is too large")
    if checksum not in (None, hashlib.sha256(data).hexdigest()):
        raise checked_files.DamagedFileError(
            f"{path} is damaged, or of another export"
        )
    return data


def _read_asset(path, name, checksum, folders):
    if os.path.basename(name) == name:
        for folder in folders:
            place = os.path.join(folder, name)
            if filesystem.isfile(place):
                return _read(place, checksum)
    raise checked_files.DamagedFileError(
        f"{path} is damaged: {name!r} is no file in {folders[0]}"
    )


def _words_of(data):
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _ids_of(words):
    first = len(special.SPECIAL_TOKENS)
    return {word: i for i, word in enumerate(words) if i >= first}


def _pad(rows, width, value):
    array = np.full((len(rows), width), value, np.int32)
    for i, row in enumerate(rows):
        array[i, : len(row)] = row
    return array


def pad_texts(rows, width) -> np.ndarray:
    """Returns rows of texts as an array, `b""` after each."""
    padded = (x for row in rows for x in [*row, *[b""] * (width - len(row))])
    return strings(padded, (len(rows), width))


def _drop_duplicates(found):
    """Removes hypotheses with the text of a better one; see `translator`."""
    nothing = {
        "texts": b"",
        "scores": MASKED,
        "tokens": b"",
        "copied_from": special.GENERATE,
        "generate_probability": 0,
        "attention": 0,
    }
    for row, texts in enumerate(found["texts"].tolist()):
        again = [text in texts[:i] for i, text in enumerate(texts)]
        if any(again):
            order = np.argsort(again, kind="stable")
            for name, value in nothing.items():
                found[name][row, again] = value
                found[name][row] = found[name][row][order]
