"""Dictionaries between two languages: `word<TAB>translation<TAB>probability`.

One entry per line, UTF-8; lines that start with `# ` and blank lines are
skipped. Several lines for one word are its senses. The same format serves both
directions. Target to source finds the source of an unknown target word
(labels). Source to target translates a word that is pointed at.

Reference: Gulcehre et al., 2016, section 4.4 and Figure 1.
"""

import math
from collections.abc import Iterable, Iterator

import tensorflow as tf

from tfcopy.atomic_files import write_atomically
from tfcopy.data.corpora.text_pairs import iter_lines, line_error
from tfcopy.data.text.blanks import is_word
from tfcopy.data.text.vocabulary import table


class Dictionary:
    """Words and their translations, the likeliest first.

    ```python
    dictionary = data.Dictionary([("rivière", "river", 0.9)])
    encoded = data.encode(pairs, *vocabularies, dictionary=dictionary)
    ```

    Args:
        entries: `(word, translation, probability)` triples. Senses of equal
            probability keep their order.
    """

    def __init__(self, entries: Iterable[tuple[str, str, float]] = ()):
        senses = {}
        for word, translation, probability in entries:
            senses.setdefault(word, []).append((translation, probability))
        for word, pairs in senses.items():
            pairs.sort(key=lambda pair: -pair[1])
        self._senses = senses
        self._sense_table = None

    @classmethod
    def load(cls, path) -> "Dictionary":
        """Reads a file; a ValueError names the file and line of a bad entry."""
        return cls(_read(path))

    def save(self, path) -> None:
        """Writes the entries, atomically."""
        write_atomically(path, lambda file: file.write(self.to_bytes()))

    def to_bytes(self) -> bytes:
        """Returns the content of the file that `save` writes."""
        text = "# word\ttranslation\tprobability\n" + "".join(
            f"{word}\t{translation}\t{probability:.6g}\n"
            for word, translation, probability in self
        )
        return text.encode()

    def __len__(self) -> int:
        return len(self._senses)

    def __contains__(self, word: str) -> bool:
        return word in self._senses

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        for word, senses in self._senses.items():
            for translation, probability in senses:
                yield word, translation, probability

    def senses(self, word: str) -> list[str]:
        """Returns the translations of a word, likeliest first."""
        return [translation for translation, _ in self._senses.get(word, ())]

    def lookup(self, words):
        """Looks up all senses of words, in the graph.

        Args:
            words: String tensor of shape `(N,)`.

        Returns:
            Ragged string tensor of shape `(N, None)`, likeliest first.
        """
        if self._sense_table is None:
            rows = {word: i for i, word in enumerate(self._senses, start=1)}
            senses = [[], *(self.senses(word) for word in self._senses)]
            with tf.init_scope():
                senses = tf.ragged.constant(senses, tf.string, ragged_rank=1)
                self._sense_table = table(rows), senses
        numbers, senses = self._sense_table
        return tf.gather(senses, numbers.lookup(words))

    def emission_table(self, shared: Iterable[str] = ()):
        """Makes a table of best translations, `""` for words to copy.

        Args:
            shared: Words of both languages, which are copied.

        Returns:
            `tf.lookup.StaticHashTable` of string to string.
        """
        with tf.init_scope():
            return table(self.best(shared), default="")

    def best(self, shared: Iterable[str] = ()) -> dict[str, str]:
        """Returns the best translations of words that are not `shared`."""
        shared = set(shared)
        return {
            word: senses[0][0]
            for word, senses in self._senses.items()
            if word not in shared
        }


def emit(words, table):
    """Translates copied words by a table.

    ```python
    table = data.Dictionary([("river", "rivière", 0.9)]).emission_table()
    data.emit(tf.constant(["Łukasz", "river"]), table)  # Łukasz rivière
    ```

    Args:
        words: String tensor of any shape, source words.
        table: `Dictionary.emission_table()` of source to target language.

    Returns:
        String tensor of the same shape: the best translation, or the word
        itself if the dictionary has none.
    """
    translations = table.lookup(words)
    return tf.where(translations == "", words, translations)


def _read(path) -> Iterator[tuple[str, str, float]]:
    for number, line in enumerate(iter_lines(path), start=1):
        if line.strip() and not line.startswith("# "):
            yield _entry(path, number, line)


def _entry(path, number, text):
    fields = text.split("\t")
    if len(fields) != 3:
        expected = "word, translation and probability between tabulators"
        raise line_error(path, number, expected, text)
    word, translation, probability = fields
    for field in (word, translation):
        if not is_word(field):
            raise line_error(path, number, "single words without blanks", text)
    try:
        value = float(probability)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise line_error(path, number, "a probability from 0 to 1", text)
    return word, translation, value
