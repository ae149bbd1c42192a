"""The rarest word: a task of the pointer softmax paper, generated.

The words of a sequence are drawn independently, the first of the vocabulary
most often; the target is its rarest word. Words are numbered from 0, the most
frequent, and written `w0`, `w1` and so on.

Shapes: B sequences, S words of each (`length`), W words of the vocabulary.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping

import numpy as np

from tfcopy import tokens
from tfcopy.data.corpora.corpus import check_range

FIRST_ID = len(tokens.SPECIAL_TOKENS)
BATCHES_PER_EPOCH = 1_000  # of an endless stream

# Each use of random numbers has its own stream.
_STREAMS = ("train", "validation", "test", "limited", "order")


@dataclasses.dataclass(frozen=True)
class RarestWord:
    """The words, and their frequencies.

    Args:
        num_words: W.
        num_pointed: Number of the rarest words, which are pointed at; the
            others are the shortlist. With 0 all words are generated.
        length: S.
        q: Each word is rarer than the one before it by this fraction: the
            frequencies are a geometric distribution, truncated after W words
            and renormalised. With 0 all are equally frequent.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 5.1,
        which does not state `q`.
    """

    num_words: int = 600
    num_pointed: int = 60
    length: int = 7
    q: float = 0.002

    def __post_init__(self):
        check_range("num_words", self.num_words, 2)
        check_range("num_pointed", self.num_pointed, 0, self.num_words - 1)
        check_range("length", self.length, 2)

    @property
    def num_generated(self) -> int:
        """The size of the shortlist, without the special words."""
        return self.num_words - self.num_pointed

    @property
    def vocabulary_size(self) -> int:
        """V, the size of the target's vocabulary: specials and shortlist."""
        return FIRST_ID + self.num_generated

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """All words of the source side, specials first.

        The target's words are the first `vocabulary_size` of them.
        """
        words = (f"w{word}" for word in range(self.num_words))
        return (*tokens.SPECIAL_TOKENS, *words)

    def probabilities(self) -> np.ndarray:
        """Returns the frequency of each word, `(W,)`, float64."""
        weights = np.exp(np.arange(self.num_words) * math.log1p(-self.q))
        return weights / weights.sum()

    def draw(self, number: int, stream: str, *seed: int) -> np.ndarray:
        """Draws sequences that depend only on the arguments.

        Args:
            number: B.
            stream: The purpose of the sequences, such as `"test"`.
            seed: Integers from 0 to below 2^32, at most three.

        Returns:
            Numbers of words, int32 `(B, S)`.
        """
        rng = _rng(stream, *seed)
        below = np.cumsum(self.probabilities())
        words = np.searchsorted(
            below, rng.random((number, self.length)), "right"
        )
        # Rounding may leave the last sum slightly below one.
        return np.minimum(words, self.num_words - 1).astype(np.int32)

    def encode(self, words: np.ndarray) -> dict[str, np.ndarray]:
        """Encodes a batch for models and losses; all int32.

        Args:
            words: Numbers of words, `(B, S)`.

        Returns:
            Dict of `source_ids` and `source_copy_ids`, `(B, S)`, and
            `target_ids` and `pointers`, `(B, 1)`. A rare target is pointed at
            where it first occurs; any other has the pointer `GENERATE`.
        """
        words = np.asarray(words, np.int32)
        same = words[:, :, None] == words[:, None, :]
        first = same.argmax(axis=-1)  # of each position's word, (B, S)
        copy_ids = np.where(
            words < self.num_generated,
            FIRST_ID + words,
            self.vocabulary_size + first,
        )
        place = words.argmax(axis=1)[:, None]  # of the rarest, its first
        target_ids = np.take_along_axis(copy_ids, place, axis=1)
        is_pointed = self.is_pointed(words)[:, None]
        batch = {
            "source_ids": FIRST_ID + words,
            "source_copy_ids": copy_ids,
            "target_ids": target_ids,
            "pointers": np.where(is_pointed, place, tokens.GENERATE),
        }
        return {name: ids.astype(np.int32) for name, ids in batch.items()}

    def is_pointed(self, words: np.ndarray) -> np.ndarray:
        """Returns which sequences' rarest words are pointed at, `(B,)`."""
        return words.max(axis=1) >= self.num_generated

    def expect(
        self, updates: int = 1_000, batch_size: int = 250
    ) -> Mapping[str, float]:
        """Computes exact expectations from the frequencies.

        Args:
            updates: Batches of endless training.
            batch_size: Sequences of each.

        Returns:
            Dict of `pointed_words` and `pointed_targets`, the shares of
            words, and of targets, that are among those pointed at; and
            `rarest_targets`, how often the rarest word is the target in as many
            updates.
        """
        frequencies = self.probabilities()
        pointed = frequencies[self.num_generated :].sum()
        last = self.num_words - 1
        return {
            "pointed_words": float(pointed),
            "pointed_targets": self._occur_in_sequence(pointed),
            "rarest_targets": updates
            * batch_size
            * self._occur_in_sequence(frequencies[last]),
        }

    def _occur_in_sequence(self, probability):
        """Returns the probability that an event occurs in a sequence."""
        return -math.expm1(self.length * math.log1p(-probability))


@dataclasses.dataclass(frozen=True)
class TrainingSequences:
    """Batches to train on: new ones without end, or a limited set.

    Batch b of epoch e depends only on the seeds, e and b, so that training can
    resume at any batch at once.

    Args:
        task: `RarestWord`.
        batch_size: B.
        seed: The seed of the endless sequences, or of the order of limited
            ones.
        size: Number of sequences of the limited set, which are read in
            another order in each epoch; `None` for no limit.
        set_seed: The seed of the limited set.
    """

    task: RarestWord
    batch_size: int
    seed: int = 0
    size: int | None = None
    set_seed: int = 0

    def __post_init__(self):
        if self.size is not None and self.size < self.batch_size:
            raise ValueError(
                f"`size` must be at least `batch_size` ({self.batch_size}). "
                f"Received: {self.size}."
            )

    @property
    def batches_per_epoch(self) -> int:
        """Number of full batches of a limited set; the rest is not read."""
        if self.size is None:
            return BATCHES_PER_EPOCH
        return self.size // self.batch_size

    def batch(self, epoch: int, index: int) -> np.ndarray:
        """Returns the words of a batch, int32 `(B, S)`."""
        if self.size is None:
            seed = self.seed, epoch, index
            return self.task.draw(self.batch_size, "train", *seed)
        limited = _draw_limited(self.task, self.size, self.set_seed)
        start = index * self.batch_size
        order = _order(self.size, self.seed, epoch)
        return limited[order[start : start + self.batch_size]]


@functools.lru_cache(maxsize=1)
def _draw_limited(task, size, seed):
    return task.draw(size, "limited", seed)


@functools.lru_cache(maxsize=1)
def _order(size, seed, epoch):
    return _rng("order", seed, epoch).permutation(size)


def _rng(stream, *seed):
    return np.random.default_rng([_STREAMS.index(stream), *seed])
