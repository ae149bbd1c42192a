"""Subwords of a SentencePiece model, as TensorFlow Text ops.

Shapes: B batch; tokens are ragged, (B, None).
"""

import dataclasses
import functools
import hashlib
from typing import ClassVar

import tensorflow as tf

from tfcopy import filesystem
from tfcopy.data.text.tokenization import normalize_blanks
from tfcopy.quiet import quiet

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
        """What is in the file."""
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
