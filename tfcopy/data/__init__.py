"""From text to batches of ids, as TensorFlow ops and datasets."""

from tfcopy.data.pairs.copy_ids import encode_pairs, encode_source
from tfcopy.data.pairs.encoding import EncodedCorpus, encode
from tfcopy.data.pairs.pipeline import batches, evaluation_batches, num_batches
from tfcopy.data.text.dictionary import Dictionary, emit
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import Tokenizer, detokenize, tokenize
from tfcopy.data.text.vocabulary import Vocabulary, count_words

__all__ = [
    "Dictionary",
    "EncodedCorpus",
    "SentencepieceTokenizer",
    "Tokenizer",
    "Vocabulary",
    "batches",
    "count_words",
    "detokenize",
    "emit",
    "encode",
    "encode_pairs",
    "encode_source",
    "evaluation_batches",
    "num_batches",
    "tokenize",
]
