"""A Transformer in the place of a recurrent encoder or decoder."""

from tfcopy.layers import (
    BahdanauAttention,
    CoverageAttention,
    MultiHeadAttention,
    MultiHeadCoverageAttention,
    TransformerAnnotations,
    TransformerCell,
)

POINTING = ("heads", "additive")


def check_choice(argument, value, choices):
    """Raises a ValueError if an argument is none of its choices."""
    if value not in choices:
        raise ValueError(
            f"`{argument}` must be one of {choices}. "
            f"Received: {argument}={value!r}."
        )


def make_encoder(encoder, recurrent, *arguments):
    """The encoder of a name, which gives annotations of one size.

    Args:
        encoder: `"transformer"`, or another name for the recurrent one.
        recurrent: That layer; its `units` are the size of one direction.
        *arguments: The arguments of `TransformerAnnotations` after its size.
    """
    if encoder != "transformer":
        return recurrent
    return TransformerAnnotations(
        2 * recurrent.units, *arguments, name="encoder"
    )


def transformer_cell(
    units,
    attention_units=None,
    *,
    pointing="heads",
    coverage=False,
    coverage_enabled=True,
    num_heads=4,
    **options,
):
    """A `TransformerCell` and the attention that points.

    Args:
        units: Size of the hidden states, a multiple of `num_heads`.
        attention_units: Size of the attention; `units` if `None`.
        pointing: `"heads"` (the mean of the weights of `num_heads` heads) or
            `"additive"`, which takes the memory of target words x source words
            x `attention_units`.
        coverage: Whether that attention sees where it has looked before.
        coverage_enabled: Whether coverage is on from the start.
        num_heads: Heads of all attentions.
        options: More arguments of `TransformerCell`.
    """
    attention = make_attention(
        attention_units or units,
        num_heads,
        pointing,
        coverage,
        coverage_enabled,
    )
    return TransformerCell(
        units, attention, num_heads=num_heads, name="cell", **options
    )


def make_attention(
    units, num_heads, pointing="heads", coverage=False, coverage_enabled=True
):
    """The attention that points; arguments as in `transformer_cell`."""
    check_choice("pointing", pointing, POINTING)
    arguments = {"name": "attention"}
    if coverage:
        arguments["enabled"] = coverage_enabled
    if pointing == "heads":
        kind = MultiHeadCoverageAttention if coverage else MultiHeadAttention
        return kind(units, num_heads, **arguments)
    kind = CoverageAttention if coverage else BahdanauAttention
    return kind(units, use_bias=True, **arguments)
