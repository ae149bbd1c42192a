"""Subwords of a SentencePiece model, as TensorFlow Text ops.

Shapes: B batch; tokens are ragged, (B, None).
"""

import dataclasses
import functools
import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from tfcopy import filesystem
from tfcopy.data.text.blanks import KEPT, TYPED, facts
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.tokenization import Tokenizer, names_of, normalize_blanks
from tfcopy.terminal import quiet

_STRINGS = tf.TensorSpec([None], tf.string)
_SPLITS = tf.TensorSpec([None], tf.int64)


class PieceTokenizer:
    """Base class of tokenizers that cut text into the pieces of a model."""

    # As in `Tokenizer`.
    reach: ClassVar[int] = 8
    cuts_words: ClassVar[bool] = True
    # No blank but the space.
    blanks = ""

    def fold(self, words):
        """Returns pieces as they are, for look-up and matching."""
        return words


@dataclasses.dataclass(frozen=True)
class SentencepieceTokenizer(PieceTokenizer):
    """Tokenizer that cuts text into the pieces of a model.

    Pieces are strings, `▁` standing for the blank before a word. Characters
    that the model lacks stay as they are, so that they can be copied like any
    other piece. A graph that uses it holds the model itself, not its file,
    and operations of TensorFlow Text that TensorFlow Serving links.

    A model keeps text as it was typed only if it was trained not to normalise
    it, as `tfcopy.data.train_sentencepiece` does; a `▁` in the text becomes a
    blank in any case. Blanks that carry meaning are kept if the model has them
    as pieces, and it does not fall back on bytes, as pretrained ones do.

    ```python
    from tfcopy.data import train_sentencepiece

    train_sentencepiece.train(["a river", "rivers"], 11, "en.model")
    tokenizer = data.SentencepieceTokenizer("en.model")
    tokens = tokenizer.tokenize(tf.constant(["a river"]))
    ```

    Args:
        model_file: The file that SentencePiece wrote, `<name>.model`.
        keeps: The blanks that may be kept; see `tokenization.adapt`.
        as_typed: Whether the model itself normalises the blanks of Unicode, as
            published ones do.
        prefix: First token of each text that has any, such as a language's.
    """

    model_file: str
    keeps: str = KEPT
    as_typed: bool = False
    prefix: str = ""

    def tokenize(self, text):
        """Cuts text of shape `(B,)` into ragged tokens, `(B, None)`."""
        tokens = self._functions[0](normalize_blanks(text, self.blanks))
        return self._begin(tokens, self.prefix)

    def tokenize_with_offsets(self, text):
        """Cuts normalised text of shape `(B,)` into tokens with positions.

        Returns:
            `(tokens, starts, ends)`, ragged, `(B, None)`: the tokens, and int64
            offsets of their characters in bytes. A character that becomes
            several tokens belongs to the last of them.
        """
        tokens, *offsets = self._functions[2](text)
        offsets = (self._begin(x, np.int64(0)) for x in offsets)
        return self._begin(tokens, self.prefix), *offsets

    def _begin(self, tokens, first):
        """Prepends a token, or its offset, to ragged ones of each text."""
        if not self.prefix:
            return tokens
        counts = tf.minimum(tokens.row_lengths(), 1)
        firsts = tf.fill([tf.reduce_sum(counts)], first)
        firsts = tf.RaggedTensor.from_row_lengths(firsts, counts, False)
        return tf.concat([firsts, tokens], axis=1)

    def detokenize(self, tokens):
        """Joins ragged tokens, `(B, None)`, to text of shape `(B,)`."""
        text = self._functions[1](tokens.flat_values, tokens.row_splits)
        # Pieces copied from another model may be unknown to this one.
        return tf.strings.strip(tf.strings.regex_replace(text, "▁", " "))

    @property
    def fingerprint(self) -> str:
        """Changes whenever a text may get other tokens."""
        digest = hashlib.sha256(self.model).hexdigest()[:16]
        return f"sentencepiece-{digest}{names_of(self.blanks)}{self.prefix}"

    @functools.cached_property
    def blanks(self) -> str:
        """The blanks of `blanks.KEPT` that are kept, or `blanks.TYPED`."""
        if self.as_typed:
            return TYPED
        import sentencepiece

        model = sentencepiece.SentencePieceProcessor(model_proto=self.model)
        pieces = {*model.id_to_piece([*range(len(model))])}
        known = "" if "<0x00>" in pieces else self.keeps
        return "".join(x for x in known if x in pieces)

    def declare(self, files: dict) -> dict:
        """Returns the facts of `SentencePieces`; adds its model to files."""
        name = f"pieces-{hashlib.sha256(self.model).hexdigest()[:16]}.model"
        files[name] = self.model
        own = {"kind": "sentencepiece", "file": name, "prefix": self.prefix}
        return {**own, **facts(self.blanks)}

    @functools.cached_property
    def model(self) -> bytes:
        """Content of the model file."""
        return filesystem.read_bytes(self.model_file)

    @functools.cached_property
    def _functions(self):
        """Graphs that create the model's resource themselves.

        A resource made outside of them would be lost when TensorFlow clears its
        caches, as it does when a random seed is set.
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

        @tf.function(input_signature=[_STRINGS], autograph=False)
        def tokenize_with_offsets(text):
            return processor().tokenize_with_offsets(text)

        try:
            # Reads the model now, not later; TensorFlow Text prints errors,
            # too.
            with quiet(), tf.init_scope():
                tokenize(tf.constant([""]))
        except tf.errors.OpError:
            raise ValueError(
                f"{self.model_file}: not a model of SentencePiece. "
                "`python -m tfcopy.data.train_sentencepiece` makes one."
            ) from None
        return tokenize, detokenize, tokenize_with_offsets


def make_tokenizers(
    tokenization: str,
    languages: Sequence[str],
    lowercase: bool,
    models: Sequence[str],
) -> list:
    """Makes the tokenizer of each side from the flags of a command.

    Args:
        tokenization: Value of `--tokenization`.
        languages: Language code of each side.
        lowercase: Value of `--lowercase`.
        models: Values of `--sentencepiece_model`, one for all sides or each.

    Raises:
        ValueError: naming `--sentencepiece_model`, if it does not fit.
    """
    is_pieces = tokenization == "sentencepiece"
    if is_pieces != bool(models) or len(models) > len(languages):
        raise ValueError(
            "--sentencepiece_model needs --tokenization sentencepiece, which "
            f"needs 1 to {len(languages)} of these files. Received: {models}."
        )
    if not is_pieces:
        return [Tokenizer(tokenization, x, lowercase) for x in languages]
    made = list(map(SentencepieceTokenizer, models))
    return [made[0], made[-1]][: len(languages)]


_NUM_BEST = 64  # of the paper


@dataclasses.dataclass(frozen=True)
class SampledPieces(PieceTokenizer):
    """Tokenizer that draws the pieces of a text, for training.

    Of the 64 most probable ways to cut a text, x, each is drawn with a
    probability proportional to `P(x) ** alpha`, where P is the probability of
    the model. The draw depends on nothing but the text, the model and the
    epoch: whatever is cut beside it, or by which worker, a text is cut alike.

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
        _ = self._processor  # Refuses other models now, not later.

    @property
    def fingerprint(self) -> str:
        """Changes whenever a text may get other tokens."""
        own = f"{self.tokenizer.fingerprint}-{self.alpha}-{self.epoch}"
        return f"sampled-{own}"

    def tokenize(self, text):
        """Cuts text of shape `(B,)` into ragged tokens, `(B, None)`."""
        pieces, lengths = tf.numpy_function(
            self._draw_all,
            [normalize_blanks(text, self.tokenizer.blanks)],
            [tf.string, tf.int64],
            stateful=False,
        )
        return tf.RaggedTensor.from_row_lengths(
            tf.ensure_shape(pieces, [None]),
            tf.ensure_shape(lengths, [None]),
            validate=False,
        )

    def detokenize(self, tokens):
        """Joins ragged tokens, `(B, None)`, to text of shape `(B,)`."""
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
        """Returns the log probability of a piece."""
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
                f"{self.tokenizer.model_file}: not a unigram model. Only "
                "unigram models cut a text in several ways."
            ) from None
        return processor


def sample_subwords(tokenizer, alpha: float, epoch: int = 0):
    """Returns a tokenizer that draws the pieces of a text.

    Args:
        tokenizer: `SentencepieceTokenizer`, or a `ProtectedTokenizer` of one.
        alpha, epoch: As in `SampledPieces`.
    """
    if isinstance(tokenizer, ProtectedTokenizer):
        inner = sample_subwords(tokenizer.inner, alpha, epoch)
        return dataclasses.replace(tokenizer, inner=inner)
    return SampledPieces(tokenizer, alpha, epoch)


@dataclasses.dataclass(frozen=True)
class BothCuttings:
    """Tokenizer of the most probable tokens and drawn ones, to count both.

    Args:
        tokenizer: The tokenizer of the most probable ones.
        sampled: The tokenizer that draws.
    """

    tokenizer: Any
    sampled: Any

    @property
    def fingerprint(self) -> str:
        """Changes whenever a text may get other tokens."""
        return f"{self.tokenizer.fingerprint}-{self.sampled.fingerprint}"

    def tokenize(self, text):
        """Cuts text of shape `(B,)` into ragged tokens, `(B, None)`."""
        both = self.tokenizer.tokenize(text), self.sampled.tokenize(text)
        return tf.concat(both, axis=1)

    def fold(self, words):
        """Folds the case as the tokenizer does."""
        return self.tokenizer.fold(words)
