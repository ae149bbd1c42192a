"""The output heads that have names, and the classes of `layers` they are."""

HEADS = {
    "softmax": "SoftmaxHead",
    "pointer_softmax": "PointerSoftmaxHead",
    "pointer_generator": "PointerGeneratorHead",
    "copynet": "CopyNetHead",
}
POINTING_HEADS = tuple(name for name in HEADS if name != "softmax")
