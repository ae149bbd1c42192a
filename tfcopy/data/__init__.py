"""From text to batches of ids, as TensorFlow ops and datasets.

What it offers is imported when it is used: commands that only read patterns
and files of the package do without TensorFlow.
"""

import importlib

_HOMES = {
    "tfcopy.data.pairs.copy_ids": (
        *("decode", "encode_pairs", "encode_source", "pointers"),
    ),
    "tfcopy.data.pairs.encoding": ("EncodedCorpus", "encode"),
    "tfcopy.data.pairs.pipeline": ("batches", "evaluation_batches"),
    "tfcopy.data.text.dictionary": ("Dictionary", "emit"),
    "tfcopy.data.text.byte_pair_tokenizer": (
        *("BytePairTokenizer", "HubPieces", "hub_pieces"),
    ),
    "tfcopy.data.text.sentencepiece_tokenizer": ("SentencepieceTokenizer",),
    "tfcopy.data.text.tokenization": ("Tokenizer", "detokenize", "tokenize"),
    "tfcopy.data.text.vocabulary": ("Vocabulary", "count_words"),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name):
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
