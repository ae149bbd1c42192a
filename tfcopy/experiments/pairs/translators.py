"""Text in, text out, with the model of a system."""

from tfcopy.decoding import SearchOptions
from tfcopy.serving.servables.translator import Translator


def make_translator(model, data, options: SearchOptions, **more) -> Translator:
    """A `Translator` with the words of a corpus.

    Args:
        model: The Keras model.
        data: `PairData`.
        options: How it searches.
        **more: More arguments of `Translator`.
    """
    return Translator(
        model,
        *data.vocabularies,
        source_tokenizer=data.tokenizers[0],
        target_tokenizer=data.tokenizers[1],
        options=options,
        **more,
    )
