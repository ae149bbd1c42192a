"""Whole corpora as flat integer arrays in memory, cached on disk."""

import dataclasses
import functools
import hashlib
import itertools
import logging
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tfcopy import checked_files
from tfcopy.data.alignment.word_links import GuidedAlignment
from tfcopy.data.corpora.corpus import fingerprint
from tfcopy.data.pairs import copy_ids
from tfcopy.data.parallel import map_chunks
from tfcopy.data.text.sentencepiece_tokenizer import sample_subwords
from tfcopy.data.text.tokenization import Tokenizer, adapt, string_tensor
from tfcopy.data.text.vocabulary import Vocabulary

# Part of the fingerprint: raise it when the arrays of the same text change.
_VERSION = 2

_ARRAYS = (
    *("source_ids", "source_copy_ids", "source_splits"),
    *("target_ids", "pointers", "target_splits", "indices", "counts"),
)
# The ids of each side, position by position.
SIDES = {
    "source": ("source_ids", "source_copy_ids"),
    "target": ("target_ids", "pointers"),
}
COUNTS = ("num_read", "num_empty", "num_too_long")

# Arguments of `copy_ids.encode_pairs` that change ids. The name of a cached
# file depends on their order.
_OPTIONS = {
    "append_eos": True,
    "label_pointers": True,
    "unmatched": "attention_argmax",
    "dictionary": None,
}
_NO_LIMIT = 2**31 - 1  # more than any text has tokens

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """Sentence pairs as ids, about 0.5 kB per pair.

    Pair i owns the places `source_splits[i]` to `source_splits[i + 1]` of
    `source_ids` and `source_copy_ids`, and `target_splits[i]` to
    `target_splits[i + 1]` of `target_ids` and `pointers`.

    ```python
    encoded = data.encode(pairs, *vocabularies)
    len(encoded), encoded.num_too_long  # pairs, and others left out
    ```

    Args:
        source_ids: int32 array.
        source_copy_ids: int32 array.
        source_splits: int64 array of shape `(num_pairs + 1,)`.
        target_ids: int32 array.
        pointers: int32 array.
        target_splits: int64 array of shape `(num_pairs + 1,)`.
        indices: int64 array of shape `(num_pairs,)`, the index (from 0) of each
            pair among the pairs that were read.
        num_read: Number of pairs read.
        num_empty: Pairs left out because a side has no tokens.
        num_too_long: Pairs left out because a side has too many.
        alignment: Links of the pairs that guide the attention, or `None`.
        sampled: `SampledCuttings` that encode the pairs again for each epoch,
            or `None`.
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
    alignment: GuidedAlignment | None = None
    sampled: Any = None

    def __len__(self) -> int:
        return len(self.indices)

    def select_epoch(self, epoch: int) -> "EncodedCorpus":
        """Returns the pairs of an epoch: these, unless they are `sampled`."""
        return self if self.sampled is None else self.sampled(epoch)

    @property
    def longest(self) -> tuple[int, int]:
        """The most tokens that a source and a target of any epoch have."""
        if self.sampled is not None:
            return self.sampled.longest
        return int(self.source_lengths.max()), int(self.target_lengths.max())

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
        if self.alignment is not None:
            digest.update(self.alignment.checksum.encode())
        return digest.hexdigest()[:16]

    @property
    def num_target_tokens(self) -> int:
        """Number of tokens of all targets."""
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
    cache_dir=None,
    name: str = "corpus",
    progress: bool = True,
    **options: Any,
) -> EncodedCorpus:
    """Encodes sentence pairs, in chunks; the text is not kept.

    ```python
    encoded = data.encode(pairs, *vocabularies)
    encoded.target_ids[: encoded.target_splits[1]]  # the first target
    ```

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
            cannot be pointed at. A target keeps that many words, including
            `EOS`: if there is no room for `EOS`, it has none, since its end was
            not seen (as in the code of See et al., 2017).
        cache_dir: Folder in which the arrays are kept under a name made of
            all that they depend on; without it, nothing is written.
        name: Name of the corpus in messages and in the cached file's name.
        progress: Whether to show a bar (on a terminal only).
        **options: `append_eos`, `label_pointers`, `unmatched`, `dictionary`
            and `entities`, as in `copy_ids.encode_pairs`. Entities are numbered
            after `truncate`.

    Raises:
        ValueError: if no pair is left; names the numbers and reasons.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 5, for
        `truncate`.
    """
    truncate = _limits(truncate)
    path = None
    if cache_dir is not None:
        of_ids = {**_OPTIONS, **options}
        entities = of_ids.pop("entities", None)
        of_ids["dictionary"] = list(of_ids["dictionary"] or ())
        key = fingerprint(
            _VERSION,
            _pairs_fingerprint(pairs),
            source_vocabulary.words,
            target_vocabulary.words,
            source_tokenizer.fingerprint,
            target_tokenizer.fingerprint,
            max_length,
            truncate,
            of_ids,
            *([entities.fingerprint] if entities else []),
        )
        path = os.path.join(os.fspath(cache_dir), f"{name}-{key[:16]}.npz")
        arrays = _load(path)
        if arrays is not None:
            return _corpus(arrays)
    arrays = encode_arrays(
        pairs,
        (source_vocabulary, target_vocabulary),
        (source_tokenizer, target_tokenizer),
        max_length=max_length,
        truncate=truncate,
        name=name,
        progress=progress,
        **options,
    )
    _check_not_empty(arrays, name, max_length)
    if path is not None:
        try:
            checked_files.write_arrays(path, arrays)
        except OSError as error:  # encoding continues without the cache
            _logger.warning("Warning: %s Going on without it.", error)
    return _corpus(arrays)


class SampledCuttings:
    """Encoder of the pairs of an epoch by tokenizers that draw.

    Args:
        pairs: As in `encode`.
        vocabularies: Vocabularies of source and target.
        tokenizers: Tokenizers of source and target, as
            `sentencepiece_tokenizer.sample_subwords` takes them.
        alpha: As in `SampledPieces`.
        max_length: The most tokens that either side may have.
        **options: More arguments of `encode`.
    """

    def __init__(
        self,
        pairs,
        vocabularies: tuple,
        tokenizers: tuple,
        alpha: float,
        max_length: int,
        **options: Any,
    ):
        self.longest = (max_length + 1,) * 2  # with EOS
        self._encode = functools.partial(
            encode, pairs, *vocabularies, max_length=max_length, **options
        )
        self._tokenizers, self._alpha = tokenizers, alpha
        self._last = None, None

    def __call__(self, epoch: int) -> EncodedCorpus:
        """Encodes the pairs for an epoch; the last result is kept."""
        if self._last[0] != epoch:
            source, target = (
                sample_subwords(x, self._alpha, epoch) for x in self._tokenizers
            )
            encoded = self._encode(
                source_tokenizer=source,
                target_tokenizer=target,
                name=f"epoch {epoch}",
            )
            self._last = epoch, encoded
        return self._last[1]


def encode_arrays(
    pairs: Iterable[tuple],
    vocabularies: tuple[Vocabulary, Vocabulary],
    tokenizers: tuple[Tokenizer, Tokenizer],
    *,
    max_length: int | tuple[int, int] | None = 50,
    truncate: tuple[int | None, int | None] | None = None,
    name: str = "corpus",
    progress: bool = True,
    **options: Any,
) -> dict[str, np.ndarray]:
    """Encodes pairs as the arrays of an `EncodedCorpus`, maybe empty.

    Args:
        pairs: (source, target) strings, or bytes.
        vocabularies: Vocabularies of source and target.
        tokenizers: Tokenizers of source and target.
        max_length, truncate, total, name, progress, **options: As in `encode`.

    Returns:
        Dict of arrays; `counts`, int64 `(3,)`, has `num_read`, `num_empty` and
        `num_too_long`.
    """
    graph = _encoding_graph(
        tuple(vocabularies), tuple(tokenizers), **{**_OPTIONS, **options}
    )
    most, longest = _as_numbers(_limits(truncate), max_length)

    def encode_chunk(pairs):
        source, target = map(string_tensor, zip(*pairs))
        arrays = graph(source, target, most, longest)
        return {key: value.numpy() for key, value in arrays.items()}

    title = f"Encoding {name}"
    return _concatenate(
        map_chunks(encode_chunk, pairs, description=title, progress=progress)
    )


def _limits(truncate):
    """Limits as `(source, target)`, checked."""
    limits = (None, None) if truncate is None else tuple(truncate)
    if len(limits) != 2 or any(x is not None and x < 1 for x in limits):
        raise ValueError(
            "`truncate` must be two limits (source, target), each at least 1 "
            f"or None. Received: {truncate!r}."
        )
    return limits


def _as_numbers(truncate, max_length):
    """Returns the lengths at which sides are cut and too long, int64 `(2,)`.

    A side that is cut is never too long.
    """
    most = [_NO_LIMIT if limit is None else limit for limit in truncate]
    longest = np.full(2, _NO_LIMIT if max_length is None else max_length)
    for side, limit in enumerate(truncate):
        if limit is not None:
            longest[side] = _NO_LIMIT
    return np.array(most, np.int64), longest.astype(np.int64)


# The splits of a corpus share a graph, which takes longer to make than to run.
@functools.lru_cache(maxsize=4)
def _encoding_graph(vocabularies, tokenizers, **options):
    """Makes the function of texts and limits to a dict of arrays."""
    source_vocabulary, target_vocabulary = vocabularies
    source_tokenizer, target_tokenizer = map(adapt, tokenizers, vocabularies)
    source_vocabulary.table(), target_vocabulary.table()
    texts, limits = tf.TensorSpec([None], tf.string), tf.TensorSpec(2, tf.int64)

    @tf.function(
        input_signature=[texts, texts, limits, limits], autograph=False
    )
    def encode_texts(source, target, most, longest):
        source = source_tokenizer.tokenize(source)[:, : most[0]]
        target = target_tokenizer.tokenize(target)[:, : most[1]]
        lengths = tf.stack([source.row_lengths(), target.row_lengths()])
        is_empty = tf.reduce_any(lengths == 0, axis=0)
        is_too_long = tf.reduce_any(lengths > longest[:, None], axis=0)
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
        for key in ("target_ids", "pointers"):  # the EOS without room
            ids[key] = ids[key][:, : most[1]]
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

    return encode_texts.get_concrete_function()


def _concatenate(encoded_chunks) -> dict[str, np.ndarray]:
    """Joins the arrays of chunks, one kind at a time to save memory."""
    parts = {}
    num_read = 0
    for arrays in encoded_chunks:
        arrays["indices"] += num_read
        num_read += int(arrays["counts"][0])
        for key, array in arrays.items():
            parts.setdefault(key, []).append(array)
    if not parts:
        return _nothing()
    joined = {key: np.concatenate(parts.pop(key)) for key in list(parts)}
    for side in ("source", "target"):
        lengths = joined.pop(f"{side}_lengths")
        joined[f"{side}_splits"] = np.concatenate([[0], np.cumsum(lengths)])
    joined["counts"] = joined["counts"].reshape(-1, len(COUNTS)).sum(0)
    return joined


def _nothing():
    """Returns the arrays of no pairs."""
    arrays = {
        name: np.zeros(int(name.endswith("splits")), np.int64)
        for name in _ARRAYS
    }
    for name in itertools.chain(*SIDES.values()):
        arrays[name] = arrays[name].astype(np.int32)
    return {**arrays, "counts": np.zeros(len(COUNTS), np.int64)}


def _check_not_empty(arrays, name, max_length):
    if len(arrays["indices"]):
        return
    num_read, num_empty, num_too_long = (int(n) for n in arrays["counts"])
    limit = f"side of more than {max_length} tokens (max_length)"
    if isinstance(max_length, tuple):
        limit = (
            f"source of more than {max_length[0]} tokens (max_source_length) "
            f"or a target of more than {max_length[1]} (max_target_length)"
        )
    raise ValueError(
        f"{name}: no sentence pair is left to work with. Of {num_read:,} pairs "
        f"read, {num_empty:,} have an empty side and {num_too_long:,} a "
        f"{limit}."
    )


def _corpus(arrays) -> EncodedCorpus:
    arrays = dict(arrays)
    counts = dict(zip(COUNTS, (int(n) for n in arrays.pop("counts"))))
    return EncodedCorpus(**arrays, **counts)


def _load(path) -> dict[str, np.ndarray] | None:
    """Loads the cached arrays; `None` if they are missing or damaged."""
    try:
        return checked_files.read_arrays(path, _ARRAYS)
    except FileNotFoundError:
        return None
    except checked_files.DamagedFileError as error:
        _logger.warning("Warning: %s It is made again.", error)
        return None


def _pairs_fingerprint(pairs) -> str:
    """Returns the fingerprint of `pairs`, or a digest of all its text."""
    if (own := getattr(pairs, "fingerprint", None)) is not None:
        return str(own)
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
