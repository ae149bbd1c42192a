"""Texts to ask exported models, from their own words and from none.

Not a benchmark itself: those of serving use it.
"""

import os

import numpy as np

# Words that no vocabulary holds, of several scripts.
NAMES = [
    "Łukasz",
    "北京",
    "O'Brien-Şahin",
    "🦄",
    "👩‍👩‍👧",
    "İstanbul",
    "Ωμέγα",
    "日本語テスト",
    "شركة",
    "x_42",
]
_VOCABULARIES = ("source_vocabulary.txt", "text_vocabulary.txt")


def sentences(model, count, seed=0, longest=30) -> list[bytes]:
    """Random words of a model's vocabulary, each eighth an unknown one.

    Args:
        model: Folder of one version.
        count: Number of texts; one in a hundred is blank.
        seed: Of the choice.
        longest: Most words of a text.
    """
    rng = np.random.default_rng(seed)
    words = _words(model)
    texts = []
    for _ in range(count):
        length = 0 if rng.random() < 0.01 else rng.integers(1, longest + 1)
        chosen = [
            NAMES[rng.integers(len(NAMES))]
            if rng.random() < 0.125
            else words[rng.integers(len(words))]
            for _ in range(length)
        ]
        texts.append(" ".join(chosen).replace(" ▁", " ").encode())
    return texts


def examples(model, num_texts, count, seed=0, longest=30):
    """Tuples of so many such texts."""
    columns = [
        sentences(model, count, seed + i, longest) for i in range(num_texts)
    ]
    return list(zip(*columns))


def _words(model):
    for name in _VOCABULARIES:
        path = os.path.join(model, "assets", name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                words = file.read().split("\n")
            return [word for word in words[4:] if word]
    raise FileNotFoundError(f"{model}: no vocabulary among its assets.")


def wild(rng) -> bytes:
    """A text of any kind: bytes, Unicode, words, blanks, huge, empty."""
    kind = rng.integers(8)
    # Most are short, so that many can be asked.
    longest = 60 if rng.random() < 0.05 else 8
    if kind == 0:
        return b""
    if kind == 1:
        return rng.bytes(rng.integers(1, 4 * longest))
    if kind == 2:
        points = rng.integers(1, 0x110000, rng.integers(1, longest))
        return "".join(map(chr, points)).encode("utf-8", "surrogatepass")
    if kind == 3:
        return bytes(rng.choice(list(b" \t\r\n\x00\x0b\x0c"), rng.integers(9)))
    if kind == 4 and rng.random() < 0.05:
        # Huge: one word, many words, or noise, up to a quarter of a megabyte.
        size = int(rng.integers(1_000, 250_000))
        pattern = [b"a", b"Mr. ", rng.bytes(64)][rng.integers(3)]
        return (pattern * (size // len(pattern) + 1))[:size]
    number = rng.integers(longest // 2)
    return " ".join(
        NAMES[i] for i in rng.integers(len(NAMES), size=number)
    ).encode()


def definitions(rng) -> tuple[bytes, ...]:
    """A dictionary of one to three words that no vocabulary holds."""
    headwords = rng.choice(NAMES, rng.integers(1, 4), replace=False)
    return tuple(f"{word}\ta small old bird".encode() for word in headwords)


def wild_definitions(rng) -> tuple[bytes, ...]:
    """Lines of any kind, some of which define a word."""
    lines = [b"\t".join([wild(rng), wild(rng)]) for _ in range(rng.integers(3))]
    if rng.random() < 0.5:
        lines += definitions(rng)
    return tuple(lines)
