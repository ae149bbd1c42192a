"""Small backbones of KerasHub's classes, with random weights."""

import keras
import numpy as np
import pytest

from tfcopy import models

ROWS = 14
# What KerasHub says of its own T5.
QUIET = pytest.mark.filterwarnings("ignore:.*T5MultiHeadAttention:UserWarning")


_T5GEMMA = {
    "attn_logit_softcapping": 2.0,
    "final_logit_softcapping": 2.0,
    "query_pre_attn_scalar": 2.0,
    "sliding_window": 1,  # shorter than the targets of the tests
    "encoder_hidden_dim": 4,
}
_GROUPED = {"num_query_heads": 2, "num_key_value_heads": 1}
_GEMMA = {**_GROUPED, "head_dim": 4, "vocabulary_size": ROWS + 1}
_POST_NORMS = {"use_post_ffw_norm": True, "use_post_attention_norm": True}
_WINDOWS = {"use_sliding_window_attention": True, "sliding_window_size": 4}
_CAPS = {"attention_logit_soft_cap": 0.5, "final_logit_soft_cap": 2.0}
_ONE_SPECIAL = {"vocabulary_size": ROWS - 2}
_TWO_SPECIALS = {"vocabulary_size": ROWS - 1}
# The class of each, and options of its own.
ENCODER_DECODERS = {
    "bart": ("Bart", {"max_sequence_length": 9}),
    "marian": ("Marian", {"max_sequence_length": 9}),
    "marian_apart": (
        "Marian",
        {"decoder_vocabulary_size": ROWS, "tie_weights": False},
    ),
    "m2m100": ("M2M100", {"num_decoder_layers": 1}),
    "t5": ("T5", {"key_value_dim": 3, "tie_embedding_weights": True}),
    "t5_untied": ("T5", {"key_value_dim": 3, "tie_embedding_weights": False}),
    "t5gemma": ("T5Gemma", _T5GEMMA),
    "t5gemma_untied": ("T5Gemma", {**_T5GEMMA, "tie_word_embeddings": False}),
    # Both sides share the matrices of keys and values.
    "t5gemma2": (
        "T5Gemma2",
        {**_T5GEMMA, "sliding_window": 2, "encoder_hidden_dim": 8},
    ),
}
DECODERS = {
    "gpt2": ("GPT2", {"max_sequence_length": 20, **_ONE_SPECIAL}),
    "gemma2": ("Gemma", {**_GEMMA, **_POST_NORMS, **_WINDOWS, **_CAPS}),
    "gemma": ("Gemma", _GEMMA),
    "gemma3": (
        "Gemma3",
        {"image_size": None, **_GEMMA, **_POST_NORMS, **_WINDOWS},
    ),
    "llama": ("Llama", _GROUPED),
    "llama3": (
        "Llama3",
        {**_GROUPED, **_TWO_SPECIALS, "tie_word_embeddings": True},
    ),
    "mistral": ("Mistral", {"sliding_window": 4, **_GROUPED}),
    "opt": ("OPT", {"max_sequence_length": 20}),
    "phi3": ("Phi3", _GROUPED),
    "qwen": ("Qwen", {**_GROUPED, **_ONE_SPECIAL}),
    "qwen3": ("Qwen3", {"head_dim": 4, **_GROUPED, **_TWO_SPECIALS}),
}
OWN = "Marian", "M2M100"
KINDS = {**ENCODER_DECODERS, **DECODERS}
# The rows of PAD, UNK, BOS and EOS, written by hand.
SPECIAL_IDS = {
    "bart": (1, 3, 2, 2),
    "marian": (1, 3, 2, 2),
    "marian_apart": (1, 3, 2, 2),
    "m2m100": (1, 3, 2, 2),
    "t5": (0, 2, 0, 1),
    "t5_untied": (0, 2, 0, 1),
    "t5gemma": (0, 3, 2, 1),
    "t5gemma_untied": (0, 3, 2, 1),
    "t5gemma2": (0, 3, 2, 1),
    "gpt2": (11,) * 4,
    "gemma2": (0, 3, 2, 1),
    "gemma": (0, 3, 2, 1),
    "gemma3": (0, 3, 2, 1),
    "llama": (2, 0, 1, 2),
    "llama3": (5, 5, 4, 5),
    "mistral": (2, 0, 1, 2),
    "opt": (1, 3, 2, 2),
    "phi3": (9, 0, 1, 9),
    "qwen": (7,) * 4,
    "qwen3": (5, 5, 6, 6),
}


def rows_of_words(kind):
    """The row that each word has in the table, in our order."""
    special = SPECIAL_IDS[kind]
    rows = KINDS[kind][1].get("vocabulary_size", ROWS)
    return [*special, *(x for x in range(rows) if x not in special)]


def make_backbone(kind, seed=3, **options):
    """A backbone of two blocks on each side, or of two alone.

    Args:
        kind: One of `KINDS`.
        seed: Of its weights, which are large.
        options: Of the backbone, by the names of BART's.
    """
    import keras_hub

    name, own = KINDS[kind]
    sizes = {
        "vocabulary_size": ROWS,
        "num_layers": 2,
        "num_heads": 2,
        "hidden_dim": 8,
        "intermediate_dim": 12,
        "dropout": 0.0,
        **own,
        **options,
    }
    if "num_query_heads" in own:
        del sizes["num_heads"]
    if name.startswith("T5Gemma"):
        sizes = _of_both_sides(sizes)
    own_or_published = models if name in OWN else keras_hub.models
    backbone = getattr(own_or_published, f"{name}Backbone")(**sizes)
    # Gemma adds 1 to its scales itself.
    ones = ("gamma", "weight", *(() if "Gemma" in name else ("scale",)))
    rng = np.random.default_rng(seed)
    for weight in backbone.trainable_weights:
        # Larger ones would make rounding errors visible.
        scale = 0.3 if len(weight.shape) > 1 else 0.1
        values = rng.normal(size=weight.shape) * scale
        weight.assign(values + weight.path.endswith(ones))
    keras.utils.set_random_seed(seed)
    return backbone


def task_class(kind):
    """The class of the copying task with a network of a kind."""
    ending = "CausalLM" if kind in DECODERS else "Seq2SeqLM"
    return getattr(models, f"Copy{KINDS[kind][0]}{ending}")


def task_without_tokenizer(kind, backbone=None, **options):
    """A copying task that knows the ids of its special rows instead."""
    backbone = backbone or make_backbone(kind)
    return task_class(kind)(backbone, special_ids=SPECIAL_IDS[kind], **options)


def randomize_added(model, backbone):
    """Makes the weights random that a model has besides its backbone's."""
    rng = np.random.default_rng(1)
    there = {id(x) for x in backbone.weights}
    for weight in model.trainable_weights:
        if id(weight) not in there:
            weight.assign(rng.normal(size=weight.shape))
    return model


def _of_both_sides(sizes):
    """T5Gemma's names of options; every other block has a sliding window."""
    sizes = dict(sizes)
    blocks, heads = sizes.pop("num_layers"), sizes.pop("num_heads")
    of_a_side = {
        "num_layers": blocks,
        "num_attention_heads": heads,
        "num_key_value_heads": heads // 2,
        "head_dim": 4,
        "layer_types": [f"{x}_attention" for x in ("sliding", "full")][:blocks],
        "hidden_dim": sizes.pop("hidden_dim"),
        "intermediate_dim": sizes.pop("intermediate_dim"),
    }
    both = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in of_a_side.items()
    }
    return {**both, "dropout_rate": sizes.pop("dropout"), **sizes}
