"""Subwords of a SentencePiece model, as TensorFlow Text ops.

Shapes: B batch; tokens are ragged, (B, None).
"""

import dataclasses
import functools
import hashlib
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from tfcopy import filesystem
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.tokenization import normalize_blanks
from tfcopy.terminal import quiet

_STRINGS = tf.TensorSpec([None], tf.string)
_SPLITS = tf.TensorSpec([None], tf.int64)


@dataclasses.dataclass(frozen=True)
class SentencepieceTokenizer:
    """Cuts text into the pieces of a model, instead of `Tokenizer`.

    Pieces are strings, `▁` standing for the blank before a word. Characters
    that the model lacks stay as they are, so that they can be copied like any
    other piece. A graph that uses it holds the model itself, not its file,
    and operations of TensorFlow Text that TensorFlow Serving links.

    A model keeps text as it was typed only if it was trained not to normalise
    it, as `tfcopy.data.train_sentencepiece` does; a `▁` in the text becomes a
    blank in any case.

    Args:
        model_file: The file that SentencePiece wrote, `<name>.model`.
    """

    model_file: str

    # As in `Tokenizer`.
    reach: ClassVar[int] = 8
    cuts_words: ClassVar[bool] = True

    def tokenize(self, text):
        """Text of shape `(B,)` to ragged tokens, `(B, None)`."""
        return self._functions[0](normalize_blanks(text))

    def fold(self, words):
        """Pieces are looked up and matched as they are."""
        return words

    def detokenize(self, tokens):
        """Ragged tokens, `(B, None)`, to text of shape `(B,)`."""
        text = self._functions[1](tokens.flat_values, tokens.row_splits)
        # Pieces copied from another model may be unknown to this one.
        return tf.strings.strip(tf.strings.regex_replace(text, "▁", " "))

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.model).hexdigest()[:16]
        return f"sentencepiece-{digest}"

    @functools.cached_property
    def model(self) -> bytes:
        """Content of the model file."""
        with filesystem.open(self.model_file, "rb") as file:
            return file.read()

    @functools.cached_property
    def _functions(self):
        """Graphs that create the model's resource themselves.

        One made outside of them would be lost as soon as TensorFlow clears
        its caches, which it does when a random seed is set.
        """
        import tensorflow_text  # Imported here: only models of pieces need it.

        def processor():
            return tensorflow_text.SentencepieceTokenizer(
                self.model, out_type=tf.string
            )

        @tf.function(input_signature=[_STRINGS], autograph=False)
        def tokenize(text):
            return processor().tokenize(text)

        @tf.function(input_signature=[_STRINGS, _SPLITS], autograph=False)
        def detokenize(pieces, splits):
            tokens = tf.RaggedTensor.from_row_splits(
                pieces, splits, validate=False
            )
            return processor().detokenize(tokens)

        try:
            # The model is read now, not later; what is none, it prints, too.
            with quiet(), tf.init_scope():
                tokenize(tf.constant([""]))
        except tf.errors.OpError:
            raise ValueError(
                f"{self.model_file}: not a model of SentencePiece. "
                "`python -m tfcopy.data.train_sentencepiece` makes one."
            ) from None
        return tokenize, detokenize


_NUM_BEST = 64  # of the paper


@dataclasses.dataclass(frozen=True)
class SampledPieces:
    """Cuts text into pieces that are drawn, for training.

    Of the 64 most probable ways to cut a text, x, each is drawn with a
    probability proportional to `P(x) ** alpha`, where P is that of the model.
    The draw depends on nothing but the text, the model and the epoch: whatever
    is cut beside it, or by which worker, a text is cut alike.

    Args:
        tokenizer: `SentencepieceTokenizer` of a unigram model.
        alpha: Positive number; 0.1 to 0.5 in the paper. The larger it is, the
            more often the most probable way is drawn.
        epoch: Number of the epoch, from 0 on.

    Raises:
        ValueError: if the model is not a unigram model.

    Reference:
        [Kudo, 2018](https://arxiv.org/abs/1804.10959), section 3.3: the n-best
        approximation, with l = 64.
    """

    tokenizer: SentencepieceTokenizer
    alpha: float
    epoch: int = 0

    def __post_init__(self):
        _ = self._processor  # A model that is no good is told now, not later.

    @property
    def reach(self) -> int:
        """As of `Tokenizer`."""
        return self.tokenizer.reach

    @property
    def cuts_words(self) -> bool:
        """As of `Tokenizer`."""
        return self.tokenizer.cuts_words

    @property
    def fingerprint(self) -> str:
        own = f"{self.tokenizer.fingerprint}-{self.alpha}-{self.epoch}"
        return f"sampled-{own}"

    def tokenize(self, text):
        """Text of shape `(B,)` to ragged tokens, `(B, None)`."""
        pieces, lengths = tf.numpy_function(
            self._draw_all,
            [normalize_blanks(text)],
            [tf.string, tf.int64],
            stateful=False,
        )
        return tf.RaggedTensor.from_row_lengths(
            tf.ensure_shape(pieces, [None]),
            tf.ensure_shape(lengths, [None]),
            validate=False,
        )

    def fold(self, words):
        """Pieces are looked up and matched as they are."""
        return words

    def detokenize(self, tokens):
        """Ragged tokens, `(B, None)`, to text of shape `(B,)`."""
        return self.tokenizer.detokenize(tokens)

    def _draw_all(self, texts):
        rows = [self._draw(text.decode("utf-8", "replace")) for text in texts]
        pieces = [piece.encode() for row in rows for piece in row]
        lengths = np.array([len(row) for row in rows], np.int64)
        return np.array(pieces, object), lengths

    def _draw(self, text):
        ways = self._processor.nbest_encode(
            text, out_type=str, nbest_size=_NUM_BEST
        )
        if len(ways) < 2:
            return ways[0] if ways else []
        logits = self.alpha * np.array([sum(map(self._score, x)) for x in ways])
        weights = np.exp(logits - logits.max())
        seed = hashlib.blake2b(f"{self.epoch} {text}".encode(), digest_size=8)
        rng = np.random.default_rng(int.from_bytes(seed.digest(), "little"))
        return ways[rng.choice(len(ways), p=weights / weights.sum())]

    def _score(self, piece):
        """Log probability of a piece."""
        return self._scores.get(piece, self._unknown)

    @functools.cached_property
    def _scores(self):
        p = self._processor
        return {p.id_to_piece(i): p.get_score(i) for i in range(len(p))}

    @functools.cached_property
    def _unknown(self):
        return min(self._scores.values()) - 10.0  # as in SentencePiece

    @functools.cached_property
    def _processor(self):
        import sentencepiece

        processor = sentencepiece.SentencePieceProcessor(
            model_proto=self.tokenizer.model
        )
        try:
            processor.nbest_encode("a", out_type=str, nbest_size=2)
        except RuntimeError:
            raise ValueError(
                f"{self.tokenizer.model_file}: not a unigram model, of which "
                "alone there are several ways to cut a text."
            ) from None
        return processor


def sampled(tokenizer, alpha: float, epoch: int = 0):
    """The tokenizer that draws where another one cuts as is most probable.

    Args:
        tokenizer: `SentencepieceTokenizer`, or a `ProtectedTokenizer` of one.
        alpha, epoch: As of `SampledPieces`.
    """
    if isinstance(tokenizer, ProtectedTokenizer):
        inner = sampled(tokenizer.inner, alpha, epoch)
        return dataclasses.replace(tokenizer, inner=inner)
    return SampledPieces(tokenizer, alpha, epoch)


@dataclasses.dataclass(frozen=True)
class BothCuttings:
    """The most probable tokens of a text, then drawn ones: to count both.

    Args:
        tokenizer: The tokenizer that gives the most probable ones.
        sampled: The tokenizer that draws.
    """

    tokenizer: Any
    sampled: Any

    @property
    def fingerprint(self) -> str:
        return f"{self.tokenizer.fingerprint}-{self.sampled.fingerprint}"

    def tokenize(self, text):
        """Text of shape `(B,)` to ragged tokens, `(B, None)`."""
        both = self.tokenizer.tokenize(text), self.sampled.tokenize(text)
        return tf.concat(both, axis=1)

    def fold(self, words):
        """Folds the case as the tokenizer does."""
        return self.tokenizer.fold(words)
