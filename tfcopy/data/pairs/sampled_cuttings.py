"""Training pairs that are cut into other pieces in each epoch."""

import functools
from typing import Any

from tfcopy.data.pairs import encoding
from tfcopy.data.text.sentencepiece_tokenizer import sampled


class SampledCuttings:
    """Encodes the pairs of an epoch with tokenizers that draw.

    Args:
        pairs: As of `encoding.encode`.
        vocabularies: Those of source and target.
        tokenizers: Those of source and target, as `sampled_pieces.sampled`
            takes them.
        alpha: As of `SampledPieces`.
        max_length: The most tokens that either side may have.
        **options: More arguments of `encoding.encode`.
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
            encoding.encode,
            pairs,
            *vocabularies,
            max_length=max_length,
            **options,
        )
        self._tokenizers, self._alpha = tokenizers, alpha
        self._last = None, None

    def __call__(self, epoch: int) -> encoding.EncodedCorpus:
        """The pairs as this epoch has them; those of the last call are kept."""
        if self._last[0] != epoch:
            source, target = (
                sampled(x, self._alpha, epoch) for x in self._tokenizers
            )
            encoded = self._encode(
                source_tokenizer=source,
                target_tokenizer=target,
                name=f"epoch {epoch}",
            )
            self._last = epoch, encoded
        return self._last[1]
