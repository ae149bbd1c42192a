"""Constants of the package: special ids and subwords, names of the heads."""

PAD = 0
UNK = 1
BOS = 2
EOS = 3

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")

# Stands for a blank inside subwords.
BLANK = "▁"
# First subword of each text, for byte pairs that were trained with one. No byte
# is mapped to its brackets, so that it never equals a subword of the text.
START = "⟨s⟩"

# Pointer labels that are not a source position.
GENERATE = -1
UNMATCHED = -2  # point wherever the model's own attention is highest

# Copy id of a source position that must never be copied.
NO_COPY = -1


class Batch(dict):
    """Batch: a dict of tensors by name, which reports missing names.

    Raises:
        ValueError: If `batch[name]` is looked up and the batch lacks it.
    """

    def __missing__(self, name):
        raise ValueError(
            f"A batch lacks {name!r}, which the model or its loss reads. It "
            f"holds: {', '.join(sorted(self))}."
        )


# Output heads: name in flags, and class in `layers`.
HEADS = {
    "softmax": "SoftmaxHead",
    "pointer_softmax": "PointerSoftmaxHead",
    "pointer_generator": "PointerGeneratorHead",
    "copynet": "CopyNetHead",
}
POINTING_HEADS = tuple(name for name in HEADS if name != "softmax")
