"""The Brown corpus: a million words of American English, of 1961.

Its 500 texts are tagged, `The/at Fulton/np-tl County/nn-tl`, in the edition
that NLTK distributes, the files `ca01` to `cr09` in a folder or a zip archive.

Reference: Francis and Kucera, 1979, Brown Corpus Manual.
"""

import os
import re

from tfcopy.data.corpora import sentences
from tfcopy.data.corpora.corpus import Corpus, CorpusError

_TEXT = re.compile("c[a-r][0-9][0-9]")


def load(
    path: str | os.PathLike, *, num_held_out: int | None = None, seed: int = 0
) -> Corpus:
    """Reads the sentences of the corpus, tokens between blanks.

    Whole texts are held out, since the sentences of one resemble each other.
    They are spread evenly over the genres.

    Args:
        path: The folder, or the archive, `brown.zip`.
        num_held_out: How many texts to hold out for validation, and for
            testing as well. By default one in twenty.
        seed: Chooses the texts.

    Raises:
        CorpusError: naming file and line.
    """
    texts = [
        file
        for file in sentences.find_files(path)
        if _TEXT.fullmatch(os.path.basename(str(file)))
    ]
    if not texts:
        raise CorpusError(
            f"{path}: no text of the Brown corpus there. Give the folder or "
            "the zip archive that holds the files ca01 to cr09."
        )
    return sentences.load(
        texts,
        hold_out="files",
        num_held_out=num_held_out,
        seed=seed,
        tagged=True,
        name="Brown",
    )
