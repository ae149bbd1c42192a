"""Flags of Transformers in the place of recurrent encoders and decoders."""

from typing import Literal

from jsonargparse.typing import PositiveInt

from tfcopy.experiments.config import ModelConfig, group, model


@group
class TransformerConfig(ModelConfig):
    """Sizes of encoder and decoder, and which of them is a Transformer."""

    encoder: Literal["gru", "transformer"] = model(
        "gru",
        "Encoder: gru (the paper's), or transformer, twice --units wide.",
    )
    encoder_layers: PositiveInt = model(
        2, "Number of blocks in a Transformer encoder."
    )
    encoder_heads: PositiveInt = model(
        4, "Number of attention heads per block of a Transformer encoder."
    )
    decoder: Literal["gru", "transformer"] = model(
        "gru", "Decoder: gru (the paper's), or transformer, --units wide."
    )
    decoder_layers: PositiveInt = model(
        2, "Number of blocks in a Transformer decoder."
    )
    decoder_heads: PositiveInt = model(
        4,
        "Number of attention heads per block of a Transformer decoder, and of "
        "the attention that points.",
    )
    feedforward_units: PositiveInt | None = model(
        None,
        "Size of the hidden layer in each block of a Transformer; four times "
        "the size of the block if not given.",
    )
    positions: Literal["sinusoidal", "learned", "rotary"] = model(
        "sinusoidal",
        "Positions of a Transformer decoder: sinusoidal or learned vectors "
        "that are added to the words, or rotary.",
    )
    num_positions: PositiveInt = model(
        512, "Number of learned positions; all later ones are like the last."
    )
    normalize_first: bool = model(
        True,
        "Normalise the inputs of a Transformer decoder's layers; false for "
        "their outputs, as in the first Transformers, which need a --warmup.",
    )
    pointing: Literal["heads", "additive"] = model(
        "heads",
        "Attention by which a Transformer decoder points: heads (the mean of "
        "several heads' weights), or additive (as recurrent decoders have).",
    )
    tied_embeddings: bool = model(
        False,
        "Use the embeddings of target words as output matrix, too.",
    )


def model_options(config: TransformerConfig) -> dict:
    """What the flags are to the functions of `models`, by argument."""
    return {
        "encoder": config.encoder,
        "encoder_layers": config.encoder_layers,
        "encoder_heads": config.encoder_heads,
        "decoder": config.decoder,
        "decoder_options": {
            "num_layers": config.decoder_layers,
            "num_heads": config.decoder_heads,
            "positions": config.positions,
            "num_positions": config.num_positions,
            "normalize_first": config.normalize_first,
            "pointing": config.pointing,
        },
        "feedforward_units": config.feedforward_units,
        "tied": config.tied_embeddings,
    }


def check(
    config: TransformerConfig,
    *,
    encoder_units=None,
    attention_units=None,
    features=None,
):
    """Raises a ValueError that names flags which do not go together.

    Args:
        config: The flags.
        encoder_units: --encoder_units, if the recipe has them.
        attention_units: --attention_units, if the recipe has them.
        features: Dict from the flag for the size of what words are predicted
            from to that size; `None`, or a size of `None`, if it is that of
            the embeddings.
    """
    if config.encoder == "transformer":
        flag = "--units" if encoder_units is None else "--encoder_units"
        size = 2 * (encoder_units or config.units)
        _check_heads(size, f"Twice {flag}", config.encoder_heads, "encoder")
    if config.decoder == "transformer":
        _check_decoder(config, attention_units)
    for flag, size in (features or {}).items():
        own = config.embedding_dim
        if config.tied_embeddings and size not in (None, own):
            raise ValueError(
                f"--tied_embeddings needs an --embedding_dim equal to {flag}. "
                f"Received: {own}, {flag} {size}."
            )


def _check_decoder(config, attention_units):
    heads, size = config.decoder_heads, config.units
    _check_heads(size, "--units", heads, "decoder")
    if config.positions == "rotary" and size // heads % 2:
        raise ValueError(
            "--positions rotary needs --units that are an even multiple of "
            f"--decoder_heads. Received: {size}, --decoder_heads {heads}."
        )
    if config.pointing == "heads" and attention_units is not None:
        _check_heads(attention_units, "--attention_units", heads, "decoder")


def _check_heads(size, what, heads, side):
    if size % heads:
        raise ValueError(
            f"{what} must be a multiple of --{side}_heads with --{side} "
            f"transformer. Received: {size}, --{side}_heads {heads}."
        )
