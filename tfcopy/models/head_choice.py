"""The heads that can be chosen by name."""

from tfcopy.layers import (
    CopyNetHead,
    PointerGeneratorHead,
    PointerSoftmaxHead,
    SoftmaxHead,
)

HEADS = {
    "softmax": SoftmaxHead,
    "pointer_softmax": PointerSoftmaxHead,
    "pointer_generator": PointerGeneratorHead,
    "copynet": CopyNetHead,
}


def make_head(head, vocabulary_size, **options):
    """Makes a head by its name; a layer is returned unchanged.

    Args:
        head: One of `HEADS`, or a head layer.
        vocabulary_size: Positive integer.
        options: Arguments of the head. An option that is `None` keeps the
            head's default.
    """
    if not isinstance(head, str):
        return head
    if head not in HEADS:
        raise ValueError(
            f"`head` must be one of {sorted(HEADS)}. Received: {head!r}."
        )
    options = {k: v for k, v in options.items() if v is not None}
    return HEADS[head](vocabulary_size, name="head", **options)
