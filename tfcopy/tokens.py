"""Constants: special ids, subwords and characters; names of the heads."""

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

# Characters that stand for parts of a text; no other module chooses any.
# Private characters of Unicode mean nothing to other readers of a text, and a
# text has no control characters once its blanks are normalised.
SPAN = "\ue000"  # a span of markup
MARK_OPEN, MARK_CLOSE = "\ue001", "\ue002"  # around the number of a phrase
NAME_OPEN, NAME_CLOSE = "\ue003", "\ue004"  # around a number from FIRST_NAME
FIRST_NAME = 0xF0000
# Of catalogues: placeholders identified by position alone, and ICU syntax.
PLACES, SYNTAX = range(0xF0000, 0xF1000), range(0xF1000, 0xF2000)
LOST = "\ufffd"  # replaces such characters of a text
STOP = "\x01"  # a full stop that belongs to the word before it
SUFFIX = "\x02"  # in a contraction, after its apostrophe
EDGE, WORD_EDGE = "\x03", "\x04"  # where a text is cut
# Before the subwords of a span: the first one, the first of a span whose
# order counts, and a later one; the first and a later one of a term that no
# encoder reads.
PIECE_MARKS = "\x05", "\x06", "\x07", "\x0e", "\x0f"
SURFACE = "\x08"  # between such a subword and the characters that it stands for

# Pointer labels that are not a source position.
GENERATE = -1
UNMATCHED = -2  # point wherever the model's own attention is highest

# Copy id of a source position that must never be copied.
NO_COPY = -1

# Log of the probability zero: so low that `exp` of it is zero, and so near zero
# that a sum of a few stays finite in float32.
MASKED = -1e9
# Values of `protected`, besides 1: the first token of a run whose order counts;
# a later token of a run. Tokenizers also have: the first token of a run that no
# encoder reads; after it, a later one.
IN_TURN, GOES_ON, UNREAD = 2, 3, 4
# The value of `protected` for each of these.
PROTECTED = 0, 1, IN_TURN, GOES_ON, 1, GOES_ON


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
