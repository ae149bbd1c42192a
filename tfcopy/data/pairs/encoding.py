"""Whole corpora as flat integer arrays in memory, cached on disk."""

import dataclasses
import hashlib
import logging
import os
import zipfile
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from tfcopy.data import chunks
from tfcopy.data.pairs import copy_ids
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary

# Part of the fingerprint: raise it when the arrays of the same text change.
_VERSION = 1

_ARRAYS = (
    "source_ids",
    "source_copy_ids",
    "source_splits",
    "target_ids",
    "pointers",
    "target_splits",
    "indices",
    "counts",
)
_COUNTS = ("num_read", "num_empty", "num_too_long")

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """Sentence pairs as ids, about 0.5 kB a pair.

    Pair i owns the places `source_splits[i]` to `source_splits[i + 1]` of
    `source_ids` and `source_copy_ids`, and `target_splits[i]` to
    `target_splits[i + 1]` of `target_ids` and `pointers`.

    Args:
        source_ids: int32 array.
        source_copy_ids: int32 array.
        source_splits: int64 array of shape `(num_pairs + 1,)`.
        target_ids: int32 array.
        pointers: int32 array.
        target_splits: int64 array of shape `(num_pairs + 1,)`.
        indices: int64 array of shape `(num_pairs,)`, the place (from 0) of
            each pair among the pairs that were read.
        num_read: Number of pairs read.
        num_empty: Pairs left out because a side has no tokens.
        num_too_long: Pairs left out because a side has too many.
        texts: The pairs as they were read, where asked for, else `None`.
    """

    source_ids: np.ndarray
    source_copy_ids: np.ndarray
    source_splits: np.ndarray
    target_ids: np.ndarray
    pointers: np.ndarray
    target_splits: np.ndarray
    indices: np.ndarray
    num_read: int
    num_empty: int = 0
    num_too_long: int = 0
    texts: list[tuple[str, str]] | None = None

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def source_lengths(self) -> np.ndarray:
        """int64 `(num_pairs,)`, with `EOS` where there is one."""
        return np.diff(self.source_splits)

    @property
    def target_lengths(self) -> np.ndarray:
        """int64 `(num_pairs,)`, with `EOS` where there is one."""
        return np.diff(self.target_splits)

    @property
    def checksum(self) -> str:
        """Changes with the ids, their order, or where the copies point."""
        digest = hashlib.sha256()
        for name in _ARRAYS[:-2]:
            digest.update(np.ascontiguousarray(getattr(self, name)).data)
        return digest.hexdigest()[:16]

    @property
    def num_target_tokens(self) -> int:
        return int(self.target_splits[-1])


def encode(
    pairs: Iterable[tuple],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    *,
    source_tokenizer: Tokenizer = Tokenizer(language="en"),
    target_tokenizer: Tokenizer = Tokenizer(language="fr"),
    max_length: int | tuple[int, int] | None = 50,
    truncate: tuple[int | None, int | None] | None = None,
    append_eos: bool = True,
    label_pointers: bool = True,
    unmatched: str = "attention_argmax",
    dictionary: Dictionary | None = None,
    entities: Entities | None = None,
    keep_texts: bool = False,
    cache_dir=None,
    total: int | None = None,
    name: str = "corpus",
    progress: bool = True,
) -> EncodedCorpus:
    """Encodes sentence pairs, in chunks; the text is not kept.

    Args:
        pairs: (source, target) strings, or bytes. With `cache_dir` it is
            iterated over twice unless it has a `fingerprint`, a string that
            changes whenever its content does.
        source_vocabulary: `Vocabulary` of the encoder.
        target_vocabulary: `Vocabulary` of the decoder.
        source_tokenizer: `Tokenizer` of the source.
        target_tokenizer: `Tokenizer` of the target.
        max_length: Pairs with more tokens on either side (`EOS` not counted)
            are left out; two numbers are limits of source and target; `None`
            keeps all. A side that `truncate` cuts is never too long.
        truncate: Limits `(source, target)`, to cut longer sides instead;
            `None` for a side that is not cut. A source keeps its first words,
            to which `EOS` is added if `append_eos`; words beyond the cut
            cannot be pointed at. A target keeps so many words, `EOS` among
            them: if there is no place for `EOS`, it has none, since its end
            was not seen (so the code of See et al., 2017).
        append_eos, label_pointers, unmatched, dictionary, entities: As for
            `copy_ids.encode_pairs`. Entities are numbered after `truncate`.
        keep_texts: Whether to keep the strings, for test sets.
        cache_dir: Folder in which the arrays are kept under a name made of
            all that they depend on; without it, nothing is written.
        total: Number of pairs, for the time left; `pairs.num_pairs` if not
            given.
        name: What to call the corpus in messages and the cached file.
        progress: Whether to show a bar (on a terminal only).

    Raises:
        ValueError: if no pair is left; says how many were dropped and why.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 5, for
        `truncate`.
    """
    truncate = _limits(truncate)
    options = {
        "append_eos": append_eos,
        "label_pointers": label_pointers,
        "unmatched": unmatched,
        "dictionary": dictionary,
    }
    if keep_texts and iter(pairs) is pairs:
        pairs = list(pairs)
    path = None
    if cache_dir is not None:
        key = _fingerprint(
            _VERSION,
            _pairs_fingerprint(pairs),
            source_vocabulary.words,
            target_vocabulary.words,
            source_tokenizer.fingerprint,
            target_tokenizer.fingerprint,
            max_length,
            truncate,
            {**options, "dictionary": list(dictionary or ())},
            *([entities.fingerprint] if entities else []),
        )
        path = os.path.join(os.fspath(cache_dir), f"{name}-{key}.npz")
        arrays = _load(path)
        if arrays is not None:
            return _corpus(arrays, pairs if keep_texts else None)
    encode_chunk = _encoder(
        source_vocabulary,
        target_vocabulary,
        source_tokenizer,
        target_tokenizer,
        max_length,
        truncate,
        {**options, "entities": entities},
    )
    arrays = _concatenate(
        chunks.map_chunks(
            encode_chunk,
            pairs,
            total=total or getattr(pairs, "num_pairs", None),
            description=f"Encoding {name}",
            progress=progress,
        )
    )
    _check_not_empty(arrays, name, max_length)
    if path is not None:
        try:
            chunks.write_atomically(path, lambda file: np.savez(file, **arrays))
        except OSError as error:  # the work goes on, only not remembered
            _logger.warning("Warning: %s Going on without it.", error)
    return _corpus(arrays, pairs if keep_texts else None)


def _limits(truncate):
    """`(source, target)`, checked."""
    limits = (None, None) if truncate is None else tuple(truncate)
    if len(limits) != 2 or any(x is not None and x < 1 for x in limits):
        raise ValueError(
            "`truncate` must be two limits (source, target), each at least 1 "
            f"or None. Received: {truncate!r}."
        )
    return limits


def _encoder(
    source_vocabulary,
    target_vocabulary,
    source_tokenizer,
    target_tokenizer,
    max_length,
    truncate,
    options,
):
    """Returns the function of a list of pairs to a dict of arrays."""
    source_vocabulary.table(), target_vocabulary.table()
    source_limit, target_limit = truncate

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)] * 2)
    def encode_texts(source, target):
        source = source_tokenizer.tokenize(source)[:, :source_limit]
        target = target_tokenizer.tokenize(target)[:, :target_limit]
        lengths = tf.stack([source.row_lengths(), target.row_lengths()])
        is_empty = tf.reduce_any(lengths == 0, axis=0)
        is_too_long = tf.zeros_like(is_empty)
        if max_length is not None:
            is_cut = tf.constant([limit is not None for limit in truncate])
            limits = tf.broadcast_to(tf.constant(max_length, tf.int64), [2])
            is_too_long = (lengths > limits[:, None]) & ~is_cut[:, None]
            is_too_long = tf.reduce_any(is_too_long, axis=0)
        is_too_long &= ~is_empty
        kept = tf.where(~is_empty & ~is_too_long)[:, 0]
        ids = copy_ids.encode_pairs(
            tf.gather(source, kept),
            tf.gather(target, kept),
            source_vocabulary,
            target_vocabulary,
            fold_source=source_tokenizer.fold,
            fold_target=target_tokenizer.fold,
            **options,
        )
        for key in ("target_ids", "pointers"):  # the EOS that has no place
            ids[key] = ids[key][:, :target_limit]
        arrays = {key: ragged.values for key, ragged in ids.items()}
        arrays["source_lengths"] = ids["source_ids"].row_lengths()
        arrays["target_lengths"] = ids["target_ids"].row_lengths()
        arrays["indices"] = kept
        arrays["counts"] = tf.stack(
            [
                tf.size(is_empty, tf.int64),
                tf.math.count_nonzero(is_empty),
                tf.math.count_nonzero(is_too_long),
            ]
        )
        return arrays

    graph = encode_texts.get_concrete_function()

    def encode_chunk(pairs):
        source, target = zip(*pairs)
        arrays = graph(chunks.to_tensor(source), chunks.to_tensor(target))
        return {key: value.numpy() for key, value in arrays.items()}

    return encode_chunk


def _concatenate(encoded_chunks) -> dict[str, np.ndarray]:
    """Joins the arrays of chunks, one kind after the other to spare memory."""
    parts = {}
    num_read = 0
    for arrays in encoded_chunks:
        arrays["indices"] += num_read
        num_read += int(arrays["counts"][0])
        for key, array in arrays.items():
            parts.setdefault(key, []).append(array)
    if not parts:
        return {"indices": np.zeros(0, np.int64), "counts": np.zeros(3)}
    joined = {key: np.concatenate(parts.pop(key)) for key in list(parts)}
    for side in ("source", "target"):
        lengths = joined.pop(f"{side}_lengths")
        joined[f"{side}_splits"] = np.concatenate([[0], np.cumsum(lengths)])
    joined["counts"] = joined["counts"].reshape(-1, len(_COUNTS)).sum(0)
    return joined


def _check_not_empty(arrays, name, max_length):
    if len(arrays["indices"]):
        return
    num_read, num_empty, num_too_long = (int(n) for n in arrays["counts"])
    raise ValueError(
        f"{name}: no sentence pair is left to work with. Of {num_read:,} pairs "
        f"read, {num_empty:,} have an empty side and {num_too_long:,} a side "
        f"of more than {max_length} tokens (max_length)."
    )


def _corpus(arrays, pairs) -> EncodedCorpus:
    arrays = dict(arrays)
    counts = dict(zip(_COUNTS, (int(n) for n in arrays.pop("counts"))))
    texts = None
    if pairs is not None:
        kept = set(arrays["indices"].tolist())
        texts = [tuple(pair) for i, pair in enumerate(pairs) if i in kept]
    return EncodedCorpus(**arrays, **counts, texts=texts)


def _load(path) -> dict[str, np.ndarray] | None:
    """The cached arrays, or `None` if they are missing or damaged."""
    if not os.path.exists(path):
        return None
    try:
        with np.load(path) as file:
            arrays = {key: file[key] for key in _ARRAYS}
        for side, key in (("source", "source_ids"), ("target", "pointers")):
            if arrays[f"{side}_splits"][-1] != len(arrays[key]):
                raise ValueError(f"{key} is cut off")
        return arrays
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as e:
        _logger.warning("Warning: %s: damaged (%s); it is made anew.", path, e)
        return None


def _pairs_fingerprint(pairs) -> str:
    """The fingerprint `pairs` has, or a digest of all its text."""
    known = getattr(pairs, "fingerprint", None)
    if known is not None:
        return str(known)
    if iter(pairs) is pairs:
        raise ValueError(
            "`pairs` can be iterated over only once, so its cached copy could "
            "not be recognised. Pass a list, an object with a `fingerprint`, "
            "or no `cache_dir`."
        )
    digest = hashlib.sha256()
    for pair in pairs:
        for text in pair:
            if isinstance(text, str):
                text = text.encode("utf-8", "surrogatepass")
            digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


def _fingerprint(*parts) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[
        :16
    ]
