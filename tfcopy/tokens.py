"""Shared constants: special ids and subwords, fields of batches, heads."""

PAD = 0
UNK = 1
BOS = 2
EOS = 3

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")

# A blank, as pieces of words are spelt.
BLANK = "▁"
# The piece before each text, of byte pairs that were trained with one. Its
# brackets are no bytes, so that no piece of text is spelt like it.
START = "⟨s⟩"

# Pointer labels that are not a source position.
GENERATE = -1
UNMATCHED = -2  # point wherever the model's own attention is highest

# Copy id of a source position that must never be copied.
NO_COPY = -1


class Batch(dict):
    """A batch, a dict of tensors by name, with an error that names them.

    Raises:
        ValueError: By `batch[name]` of a tensor that it lacks.
    """

    def __missing__(self, name):
        raise ValueError(
            f"A batch lacks {name!r}, which the model or its loss reads. It "
            f"holds: {', '.join(sorted(self))}."
        )


# The names of output heads, and the classes of `layers` they are.
HEADS = {
    "softmax": "SoftmaxHead",
    "pointer_softmax": "PointerSoftmaxHead",
    "pointer_generator": "PointerGeneratorHead",
    "copynet": "CopyNetHead",
}
POINTING_HEADS = tuple(name for name in HEADS if name != "softmax")
