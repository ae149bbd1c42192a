"""Layers of nested arguments, as `helpers.check_layer` calls layers."""

import keras


class Wrapper(keras.layers.Layer):
    """The base of layers that nest their arguments for another layer."""

    def __init__(self, layer, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.layer = layer

    def get_config(self):
        layer = keras.saving.serialize_keras_object(self.layer)
        return {**super().get_config(), "layer": layer}

    @classmethod
    def from_config(cls, config):
        layer = keras.saving.deserialize_keras_object(config["layer"])
        return cls(**{**config, "layer": layer})


@keras.saving.register_keras_serializable(package="tests")
class FlatReader(Wrapper):
    """A reader of definitions."""

    def build(self, table_shape):
        if not self.layer.built:
            self.layer.build(table_shape)

    def call(self, table, ids, owners, weights, counts):
        definitions = {
            "ids": ids,
            "owners": owners,
            "weights": weights,
            "counts": counts,
        }
        return self.layer(table, definitions)

    def compute_output_spec(self, table, ids, owners, weights, counts):
        return self.layer.compute_output_spec(table, {"counts": counts})


@keras.saving.register_keras_serializable(package="tests")
class FlatCombination(Wrapper):
    """A `WordCombination` of two sources."""

    def build(self, word_shape, definitions_shape, spellings_shape):
        sources = {
            "definitions": definitions_shape,
            "spellings": spellings_shape,
        }
        if not self.layer.built:
            self.layer.build(None, word_shape, sources)

    def call(self, ids, word, definitions, spellings):
        sources = {"definitions": definitions, "spellings": spellings}
        return self.layer(ids, word, sources)

    def compute_output_spec(self, ids, word, definitions, spellings):
        return self.layer.compute_output_spec(ids, word, {})


@keras.saving.register_keras_serializable(package="tests")
class FlatEmbedding(Wrapper):
    """A `DefinitionEmbedding` of two texts, with definitions and spellings."""

    def build(self, context_shape):
        if not self.layer.built:
            self.layer.build()

    def call(
        self,
        context,
        question,
        context_slots,
        question_slots,
        ids,
        owners,
        weights,
        counts,
        context_words,
        question_words,
        spellings,
    ):
        definitions = {
            "slots": [context_slots, question_slots],
            "ids": ids,
            "owners": owners,
            "weights": weights,
            "counts": counts,
        }
        words = {"slots": [context_words, question_words], "ids": spellings}
        return self.layer((context, question), definitions, words)

    def compute_output_spec(self, context, question, *args, **kwargs):
        return self.layer.compute_output_spec((context, question))
