"""Small wordnets in the format of WordNet's database, wndb(5WN)."""

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
LICENCE = ["This software is provided to you,  ", "", "WordNet 3.0  "]


def write(folder, synsets, exceptions=None):
    """Writes all files of the database.

    Args:
        folder: Where to.
        synsets: `(type, words, gloss)` triples, frequent senses first; `s` is
            the type of a satellite adjective.
        exceptions: By part of speech, lines such as `"ran run"`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    notice = "".join(f"  {i} {x}\n" for i, x in enumerate(LICENCE, start=1))
    for part, name in FILES.items():
        chosen = [x for x in synsets if part == x[0].replace("s", "a")]
        data, offsets = notice, {}
        # The index alone gives the order of senses.
        for kind, words, gloss in reversed(chosen):
            offset = f"{len(data.encode()):08d}"
            for lemma in dict.fromkeys(_lemma(word) for word in words):
                offsets.setdefault(lemma, []).insert(0, offset)
            columns = [offset, "03", kind, f"{len(words):02x}"]
            columns += [f"{word} 0" for word in words]
            columns += ["002 @ 00001740 n 0000 + 00002137 n 0101"]
            columns += ["01 + 02 00"] * (kind == "v")
            data += f"{' '.join(columns)} | {gloss}  \n"
        index = notice + "".join(
            f"{lemma} {part} {len(of)} 2 @ + {len(of)} 0 {' '.join(of)}  \n"
            for lemma, of in sorted(offsets.items())
        )
        lines = "".join(f"{x}\n" for x in (exceptions or {}).get(part, ()))
        (folder / f"data.{name}").write_text(data)
        (folder / f"index.{name}").write_text(index)
        (folder / f"{name}.exc").write_text(lines)
    return folder


def _lemma(word):
    return word.lower().split("(")[0]
