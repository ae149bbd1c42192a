"""Text in, text out, with the model of a system."""

from tfcopy.decoding import SearchOptions
from tfcopy.experiments.pairs.model_flags import PairsConfig
from tfcopy.serving.servables.translator import Translator


def search_options(config: PairsConfig, **own) -> SearchOptions:
    """How all systems of pairs of texts search.

    Args:
        config: The flags.
        **own: Further arguments of `SearchOptions`, a system's own.
    """
    return SearchOptions(
        num_beams=config.num_beams,
        same_in_every_batch=config.same_in_every_batch,
        length_penalty=config.length_penalty,
        unfinished_compete=config.unfinished_compete,
        coverage_penalty=config.coverage_penalty,
        no_repeat_ngram=config.no_repeat_ngram,
        forbid_unk=config.forbid_unk,
        **own,
    )


def make_translator(
    config: PairsConfig, model, data, options: SearchOptions, **more
) -> Translator:
    """A `Translator` with the words of a corpus.

    Args:
        config: The flags, of which --replace_unk is read.
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
        replace_unk=config.replace_unk,
        **more,
    )
