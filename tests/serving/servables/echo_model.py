"""A model that is made at once, and a server of it."""

import tensorflow as tf

from tests.runtime.serving_server import ServingServer
from tfcopy.runtime.local_model import LocalModel

NUMBERS = [float("nan"), float("inf"), float("-inf"), 0.1, -1e9, 1e-40]


class Echo(tf.Module):
    """Says what it was asked, in all dtypes that our models answer with."""

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string, "text")],
        autograph=False,
    )
    def plain(self, text):
        place = tf.minimum(tf.strings.length(text), len(NUMBERS) - 1)
        scores = tf.gather(tf.constant(NUMBERS), place)
        return {"text": text, "score": scores, "text_bytes": text}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string, "text")],
        autograph=False,
    )
    def single(self, text):
        return {"text": text}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "text"),
            tf.TensorSpec([None, None], tf.string, "dictionary"),
        ],
        autograph=False,
    )
    def analyse(self, text, dictionary):
        words = tf.strings.split(text)
        lengths = tf.cast(words.row_lengths(), tf.int32)
        places = tf.ragged.range(lengths).to_tensor(-1)
        longest = tf.maximum(0, tf.reduce_max(lengths))
        return {
            "tokens": words.to_tensor(""),
            "dictionary": dictionary,
            "copied_from": places,
            "is_known": (words != "x").to_tensor(False),
            "attention": tf.one_hot(places, longest),
        }


def load(folder):
    """The model, of version 3, exported to a folder together with 1."""
    echo = Echo()
    signatures = {
        "serving_default": echo.plain,
        "single": echo.single,
        "analyse": echo.analyse,
    }
    for version in (1, 3):
        tf.saved_model.save(echo, str(folder / str(version)), signatures)
    return LocalModel(folder)


def serve(local):
    """A server of what `load` gave."""
    older = LocalModel(local.name[:-1] + "1")
    return ServingServer({"echo": {1: older, 3: local}})


def inputs_of(signature, texts, width=2):
    """Returns the inputs of a signature."""
    inputs = {"text": texts}
    if signature == "analyse":
        inputs["dictionary"] = [[x] * width for x in texts]
    return inputs
