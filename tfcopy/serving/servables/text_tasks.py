"""Models of texts as they are served: questions, entailment, next words.

Shapes: B examples, N words of a context and its end, M words of a question and
its end, C labels, T words of a text, K words that may come next, L entries of a
word, V words of the vocabulary.
"""

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.text.tokenization import cut_out, tokenize_with_offsets
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
