"""Whether a premise entails a hypothesis.

Shapes: B examples, C labels, T words of a text, L entries of a word.
"""

import tensorflow as tf

from tfcopy.serving.servables.text_model import TextModel

# Their order is that of `tfcopy.data.corpora.nli`.
LABELS = ("contradiction", "neutral", "entailment")


class EntailmentClassifier(TextModel):
    """Serves a model such as `models.esim`.

    Signatures, whose texts are strings `(B,)`:

    - `serving_default`, of `premise` and `hypothesis`, gives `label`, strings
      `(B,)`, and `probabilities`, float32 `(B, C)`, in the order of `labels`.
    - `with_dictionary`, of `dictionary`, strings `(B, R)`, too, gives the
      same.
    - `analyse`, of all of these (without `dictionary`, where there is no
      `with_dictionary`), gives more: `premise_tokens` and
      `hypothesis_tokens`, strings `(B, T)`, then `""`; and of models that
      read definitions `premise_headwords` and `hypothesis_headwords`, strings
      `(B, T, L)`: whose definitions a word has.

    Args:
        *args: As in `TextModel`.
        labels: Names of the labels, in the order of the model's scores.
        **kwargs: As in `TextModel`.
    """

    task = "entailment"
    texts = ("premise", "hypothesis")

    def __init__(self, *args, labels=LABELS, **kwargs):
        self.labels = tuple(labels)
        super().__init__(*args, **kwargs)

    @property
    def own_options(self) -> dict:
        return {"labels": list(self.labels)}

    def _answer(self, texts, read):
        best = tf.argmax(read.outputs, axis=-1)
        return {
            "label": tf.gather(tf.constant(self.labels), best),
            "probabilities": tf.nn.softmax(read.outputs),
        }

    def _analyse(self, texts, read):
        return {**self._answer(texts, read), **self._about_words(read)}
