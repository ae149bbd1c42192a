"""How probable a text is, and which words may come next.

Shapes: B texts, T words of a text, K words that may come next, L entries of a
word, V words of the vocabulary.
"""

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.serving.servables.text_model import TextModel

NUM_SPECIALS = len(special.SPECIAL_TOKENS)


class WordPredictor(TextModel):
    """Serves a model such as `models.lstm_language_model`.

    A word that is not in the vocabulary counts as `<unk>`, whose probability
    all such words share. The end of a text is no word.

    Signatures, whose texts are strings `(B,)`:

    - `serving_default`, of `text`, gives `next_words`, strings `(B, K)`, and
      `next_probabilities`, float32 `(B, K)`, the best first, without special
      words; `log_probability`, float32 `(B,)`, of the whole text, nats; and
      `perplexity`, float32 `(B,)`, 1 for a text without any word.
    - `with_dictionary`, of `dictionary`, strings `(B, R)`, too, gives the
      same.
    - `analyse`, of both (without `dictionary`, where there is no
      `with_dictionary`), gives more: `tokens`, strings `(B, T)`, then `""`;
      `token_log_probabilities`, float32 `(B, T)`, of each after those before
      it, 0 on padding; `is_known`, boolean `(B, T)`; and of models that read
      definitions `headwords`, strings `(B, T, L)`: whose definitions a word
      has.

    Args:
        *args: As in `TextModel`.
        num_words: Positive integer, K; no more than there are.
        **kwargs: As in `TextModel`.
    """

    task = "language_model"
    texts = ("text",)

    def __init__(self, *args, num_words: int = 10, **kwargs):
        self.num_words = num_words
        super().__init__(*args, **kwargs)
        with tf.init_scope():
            self._words = tf.constant(
                self.features.vocabulary.words[NUM_SPECIALS:]
            )

    def _check(self, features, *args):
        super()._check(features, *args)
        if features.end or not features.begin:
            raise ValueError(
                "Texts must begin with BOS, and not end with EOS. "
                f"Received: features of begin={features.begin}, "
                f"end={features.end}."
            )

    @property
    def own_options(self) -> dict:
        return {"num_words": self.num_words}

    def _answer(self, texts, read):
        lengths = tf.cast(read.words["text"].row_lengths(), tf.int32)
        logits = tf.cast(read.outputs, tf.float32)
        following = tf.gather(logits, lengths, batch_dims=1)  # (B, V)
        probabilities = tf.nn.softmax(following)[:, NUM_SPECIALS:]
        number = min(
            self.num_words, self.features.vocabulary.size - NUM_SPECIALS
        )
        best, places = tf.math.top_k(probabilities, number)
        log_probability = tf.reduce_sum(self._log_probabilities(read), axis=1)
        number = tf.cast(tf.maximum(lengths, 1), tf.float32)
        return {
            "next_words": tf.gather(self._words, places),
            "next_probabilities": best,
            "log_probability": log_probability,
            "perplexity": tf.exp(-log_probability / number),
        }

    def _log_probabilities(self, read):
        """The log-probability of each word, `(B, T)`, 0 on padding."""
        ids = read.inputs["text_ids"][:, 1:]
        logits = tf.cast(read.outputs[:, :-1], tf.float32)
        costs = tf.nn.sparse_softmax_cross_entropy_with_logits(ids, logits)
        return tf.where(ids == special.PAD, 0.0, -costs)

    def _analyse(self, texts, read):
        about = self._about_words(read)
        ids = read.inputs["text_ids"][:, 1:]
        return {
            **self._answer(texts, read),
            # The probability of the mark at the beginning is not needed.
            **{x.removeprefix("text_"): y[:, 1:] for x, y in about.items()},
            "token_log_probabilities": self._log_probabilities(read),
            "is_known": (ids != special.UNK) & (ids != special.PAD),
        }
