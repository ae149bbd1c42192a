"""Small tokenizers of KerasHub's classes, in their publishers' formats."""

import io
import json

SENTENCES = [
    "The session of the parliament is open.",
    "The parliament opens the session again; it's Köln's 42nd.",
    "Is the opening of a session an open session?",
    "The president and the parliament open it, they'll say.",
] * 3


def byte_pairs(size=330, special_tokens=None):
    """HuggingFace's own byte pairs, with BART's special symbols."""
    import tokenizers

    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(
        SENTENCES,
        size,
        special_tokens=special_tokens
        or ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        show_progress=False,
    )
    return trained


def bart_tokenizer(trained=None):
    """A `BartTokenizer`."""
    return _of_byte_pairs("BartTokenizer", trained or byte_pairs())


def gpt2_tokenizer():
    """A `GPT2Tokenizer`, whose one special piece is its last."""
    end = "<|endoftext|>"
    hub = _of_byte_pairs("GPT2Tokenizer", byte_pairs(special_tokens=[end]))
    numbers = dict(hub.vocabulary)
    last = len(numbers) - 1
    numbers = {
        piece: last if piece == end else number - 1
        for piece, number in numbers.items()
    }
    return type(hub)(vocabulary=numbers, merges=hub.merges)


def _of_byte_pairs(name, trained):
    import keras_hub

    model = json.loads(trained.to_str())["model"]
    merges = [x if isinstance(x, str) else " ".join(x) for x in model["merges"]]
    return getattr(keras_hub.models, name)(
        vocabulary=model["vocab"], merges=merges
    )


def t5_tokenizer(size=45):
    """A `T5Tokenizer`."""
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    return _of_sentencepiece("T5Tokenizer", size, **ids)


def gemma_tokenizer(size=46):
    """A `GemmaTokenizer`: it marks no blank before the first word."""
    return _of_sentencepiece(
        "GemmaTokenizer", size, **_GEMMA, add_dummy_prefix=False
    )


def t5gemma_tokenizer(size=300, name="T5GemmaTokenizer"):
    """A `T5GemmaTokenizer`: text as it is, and bytes for what no piece holds.

    Args:
        size: Number of pieces, 256 of them bytes.
        name: Its class.
    """
    return _of_sentencepiece(
        name,
        size,
        **_GEMMA,
        byte_fallback=True,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        split_digits=True,
    )


_GEMMA = {
    **{"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3},
    **{f"{x}_piece": f"<{x}>" for x in ("pad", "eos", "bos", "unk")},
}
TOKENIZERS = {
    "bart": bart_tokenizer,
    "t5": t5_tokenizer,
    "t5gemma": t5gemma_tokenizer,
    "t5gemma2": lambda: t5gemma_tokenizer(name="T5Gemma2Tokenizer"),
    "gpt2": gpt2_tokenizer,
    "gemma": gemma_tokenizer,
}


def train_sentencepiece(size, model_type="bpe", **options):
    """The content of a model's file."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=model,
        vocab_size=size,
        model_type=model_type,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def _of_sentencepiece(name, size, **options):
    import keras_hub

    proto = train_sentencepiece(size, **options)
    return getattr(keras_hub.models, name)(proto=proto)
