"""Special ids, the same in every vocabulary, and the special labels."""

PAD = 0
UNK = 1
BOS = 2
EOS = 3

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")

# Pointer labels that are not a source position.
GENERATE = -1
UNMATCHED = -2  # point wherever the model's own attention is highest

# Copy id of a source position that must never be copied.
NO_COPY = -1
