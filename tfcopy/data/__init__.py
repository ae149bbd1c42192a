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
    name: home
    for home, names in {
        "pairs.copy_ids": "decode encode_pairs encode_source pointers",
        "pairs.encoding": "EncodedCorpus encode",
        "pairs.pipeline": "batches evaluation_batches",
        "text.byte_pair_tokenizer": "BytePairTokenizer HubPieces hub_pieces",
        "text.dictionary": "Dictionary emit",
        "text.sentencepiece_tokenizer": "SentencepieceTokenizer",
        "text.tokenization": "Tokenizer detokenize tokenize",
        "text.vocabulary": "Vocabulary count_words",
    }.items()
    for name in names.split()
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        home = importlib.import_module(f"tfcopy.data.{_HOMES[name]}")
        return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
