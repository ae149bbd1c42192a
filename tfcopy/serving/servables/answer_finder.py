"""Answers to questions, cut out of their contexts.

Shapes: B examples, N words of a context and its end, M words of a question
and its end, L entries of a word.
"""

import tensorflow as tf

from tfcopy.data.text.token_offsets import cut_out, tokenize_with_offsets
from tfcopy.decoding import joint_spans
from tfcopy.serving.servables.text_model import TextModel


class AnswerFinder(TextModel):
    """Serves a model such as `models.coattention`.

    Signatures, whose texts are strings `(B,)`:

    - `serving_default`, of `context` and `question`, gives `text`, strings
      `(B,)`: the words of the context, just as they are typed there; `score`,
      float32 `(B,)`: their log-probability; `start` and `end`, int32 `(B,)`:
      where they stand in the context, in code points. A context without any
      word has the answer `""` with a score of 0.
    - `with_dictionary`, of `dictionary`, strings `(B, R)`, too, gives the
      same.
    - `analyse`, of all of these (without `dictionary`, where there is no
      `with_dictionary`), gives more: `context_tokens`, `(B, N)`, and
      `question_tokens`, `(B, M)`, strings, `</s>` at the end, then `""`; of
      models that read definitions `context_headwords`, `(B, N, L)`, and
      `question_headwords`, `(B, M, L)`, strings: whose definitions a word
      has; `start_probability` and `end_probability`, float32 `(B, N)`, of
      the answer to begin at a word and to end before it; and, if the model
      has a `Coattention` of this name, `attention`, float32 `(B, N, M)`:
      the attention of each word of the context to the question.

    Args:
        *args: As in `TextModel`.
        max_answer_length: Positive integer, the most words of an answer.
        **kwargs: As in `TextModel`.
    """

    task = "question_answering"
    texts = ("context", "question")
    layers = ("coattention",)

    def __init__(self, *args, max_answer_length: int = 30, **kwargs):
        self.max_answer_length = max_answer_length
        super().__init__(*args, **kwargs)

    def _check(self, features, *args):
        super()._check(features, *args)
        if features.begin or not features.end:
            raise ValueError(
                "Contexts must end with EOS, and not begin with BOS. "
                f"Received: features of begin={features.begin}, "
                f"end={features.end}."
            )

    @property
    def own_options(self) -> dict:
        return {"max_answer_length": self.max_answer_length}

    def _answer(self, texts, read):
        context = texts["context"]
        _, starts, ends = tokenize_with_offsets(context, self.tokenizer)
        starts, ends = (x[:, : self.max_length] for x in (starts, ends))
        first, last, score = self._spans(read)
        is_blank = starts.row_lengths() == 0
        first, last = (tf.where(is_blank, 0, x) for x in (first, last))
        start, end = (
            _value_at(offsets, place, is_blank)
            for offsets, place in ((starts, first), (ends, last - 1))
        )
        return {
            "text": cut_out(context, starts, ends, first, last),
            "score": tf.where(is_blank, 0.0, score),
            "start": start,
            "end": end,
        }

    def _spans(self, read):
        start, end = (
            tf.nn.log_softmax(read.outputs[name]) for name in ("start", "end")
        )
        first, last = joint_spans(start, end, self.max_answer_length)
        # Only in a blank context does no word follow the first.
        last = tf.minimum(last, tf.shape(end)[1] - 1)
        score = tf.gather(start, first, batch_dims=1)
        return first, last, score + tf.gather(end, last, batch_dims=1)

    def _analyse(self, texts, read):
        probabilities = {
            f"{name}_probability": tf.nn.softmax(read.outputs[name])
            for name in ("start", "end")
        }
        outputs = {
            **self._answer(texts, read),
            **self._about_words(read),
            **probabilities,
        }
        if "coattention" in read.details:
            outputs["attention"] = read.details["coattention"][1]
        return outputs


def _value_at(offsets, place, is_blank):
    """Offsets, ragged `(B, None)`, at a place of each row; 0 if blank."""
    rows = tf.cast(offsets.row_starts(), tf.int32)
    values = tf.concat([offsets.flat_values, [0]], 0)
    picked = tf.gather(values, tf.where(is_blank, 0, rows + place))
    return tf.where(is_blank, 0, picked)
