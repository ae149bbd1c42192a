"""From text to batches of ids, as TensorFlow ops and datasets."""

from tfcopy.data.copy_ids import encode_pairs, encode_source
from tfcopy.data.dictionary import Dictionary, emit
from tfcopy.data.encoding import EncodedCorpus, encode
from tfcopy.data.pipeline import batches, evaluation_batches, num_batches
from tfcopy.data.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.tokenization import Tokenizer, detokenize, tokenize
from tfcopy.data.vocabulary import Vocabulary, count_words

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
