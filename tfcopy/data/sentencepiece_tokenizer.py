"""Subwords of a SentencePiece model, as TensorFlow Text ops.

Shapes: B batch; tokens are ragged, (B, None).
"""

import dataclasses
import functools
import hashlib

import tensorflow as tf

from tfcopy.data.tokenization import normalize_blanks


@dataclasses.dataclass(frozen=True)
class SentencepieceTokenizer:
    """Cuts text into the pieces of a model, in place of `Tokenizer`.

    Pieces are strings, `▁` standing for the blank before a word. Characters
    that the model lacks stay as they are, so that they can be copied like any
    other piece. A graph that uses it holds the model itself, not its file,
    and operations of TensorFlow Text that TensorFlow Serving links.

    A model keeps text as it was typed only if it was trained not to normalise
    it, as `tfcopy.data.train_sentencepiece` does; a `▁` in the text becomes a
    blank all the same.

    Args:
        model_file: The file that SentencePiece wrote, `<name>.model`.
    """

    model_file: str

    def tokenize(self, text):
        """Text of shape `(B,)` to ragged tokens, `(B, None)`."""
        return self._processor.tokenize(normalize_blanks(text))

    def detokenize(self, tokens):
        """Ragged tokens, `(B, None)`, to text of shape `(B,)`."""
        text = self._processor.detokenize(tokens)
        # Pieces copied from another model's may be unknown to this one.
        return tf.strings.strip(tf.strings.regex_replace(text, "▁", " "))

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(self._model).hexdigest()[:16]
        return f"sentencepiece-{digest}"

    @property
    def resources(self) -> tuple:
        """What a SavedModel must hold."""
        return (self._processor,)

    @functools.cached_property
    def _model(self):
        with open(self.model_file, "rb") as file:
            return file.read()

    @functools.cached_property
    def _processor(self):
        import tensorflow_text  # Late: only those who want pieces need it.

        with tf.init_scope():
            try:
                processor = tensorflow_text.SentencepieceTokenizer(
                    self._model, out_type=tf.string
                )
                processor.vocab_size()  # The model is read now, not before.
            except tf.errors.OpError:
                raise ValueError(
                    f"{self.model_file}: not a model of SentencePiece. "
                    "`python -m tfcopy.data.train_sentencepiece` makes one."
                ) from None
        return processor
