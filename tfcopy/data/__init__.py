"""From text to batches of ids, as TensorFlow ops and datasets.

Names are imported when they are used: commands that only read patterns and
files of the package do without TensorFlow.

Examples of the functions continue this one:

```python
import numpy as np
import tensorflow as tf
from tfcopy import data

pairs = [("a river", "une rivière"), ("Łukasz's river", "la rivière")]
tokenizers = data.Tokenizer(language="en"), data.Tokenizer(language="fr")
counts = data.count_words(pairs, tokenizers)
vocabularies = [data.Vocabulary.build(x, max_size=8) for x in counts]
```
"""

import importlib

_HOMES = {
    "BytePairTokenizer": "text.byte_pair_tokenizer",
    "Dictionary": "text.dictionary",
    "EncodedCorpus": "pairs.encoding",
    "HubPieces": "text.byte_pair_tokenizer",
    "SentencepieceTokenizer": "text.sentencepiece_tokenizer",
    "Tokenizer": "text.tokenization",
    "Vocabulary": "text.vocabulary",
    "batches": "pairs.pipeline",
    "count_words": "text.vocabulary",
    "decode": "pairs.copy_ids",
    "detokenize": "text.tokenization",
    "emit": "text.dictionary",
    "encode": "pairs.encoding",
    "encode_pairs": "pairs.copy_ids",
    "encode_source": "pairs.copy_ids",
    "evaluation_batches": "pairs.pipeline",
    "hub_pieces": "text.byte_pair_tokenizer",
    "pointers": "pairs.copy_ids",
    "tokenize": "text.tokenization",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        home = importlib.import_module(f"tfcopy.data.{_HOMES[name]}")
        return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
