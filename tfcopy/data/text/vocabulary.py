"""Vocabularies: counted from text, stored as files of one word per line."""

import collections
import functools
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence

import tensorflow as tf

from tfcopy import filesystem
from tfcopy import tokens as special
from tfcopy.atomic_files import write_atomically
from tfcopy.data.corpora.text_pairs import iter_lines
from tfcopy.data.parallel import map_chunks
from tfcopy.data.text.blanks import is_word
from tfcopy.data.text.tokenization import Tokenizer, string_tensor


class Vocabulary:
    """The words of one side; a word's id is its index in the list.

    The first four words are the specials (`tfcopy.tokens`). Text that spells
    a special, such as `</s>` in a tokenised corpus, is an unknown word: the id
    of a special never comes from text.

    ```python
    vocabulary = data.Vocabulary.build({"river": 2, "a": 3})
    vocabulary.id("river")  # 5, after four specials and "a"
    ```

    Args:
        words: All words, specials first.
        path: File that holds them, which then is an asset of a SavedModel.
    """

    def __init__(self, words: Sequence[str], path: str | None = None):
        _check(words, path)
        self.words = tuple(words)
        self.path = None if path is None else os.fspath(path)
        self._table = None
        self._ids = None

    @classmethod
    def build(
        cls,
        counts: Mapping[str, int],
        max_size: int | None = None,
        min_count: int = 1,
    ) -> "Vocabulary":
        """Takes the most frequent words; among equals, in order of spelling.

        Spans of markup that hold a blank are left out: they can be copied, but
        a vocabulary's file has one word without blanks on each line.

        Args:
            counts: Word to number of occurrences.
            max_size: Largest size, the four specials included.
            min_count: Rarer words are left out.
        """
        specials = special.SPECIAL_TOKENS
        if max_size is not None and max_size < len(specials):
            raise ValueError(
                f"`max_size` must be at least {len(specials)}, the number of "
                f"special words. Received: max_size={max_size}."
            )
        words = [
            word
            for word, count in counts.items()
            if count >= min_count and word not in specials and is_word(word)
        ]
        words.sort(key=lambda word: (-counts[word], word))
        return cls((*specials, *words)[:max_size])

    @classmethod
    def load(cls, path) -> "Vocabulary":
        """Reads a file that `save` wrote, or any of the same form."""
        return cls(list(iter_lines(path)), path)

    def save(self, path) -> "Vocabulary":
        """Writes one word per line; returns this vocabulary as that file's."""
        write_atomically(path, lambda file: file.write(self.to_bytes()))
        return Vocabulary(self.words, path)

    def is_file(self, name) -> bool:
        """Returns whether a file of this name still holds the vocabulary."""
        if self.path is None or os.path.basename(self.path) != name:
            return False
        try:
            return filesystem.read_bytes(self.path) == self.to_bytes()
        except OSError:
            return False

    def to_bytes(self) -> bytes:
        """Returns the content of the file that `save` writes."""
        return "".join(f"{word}\n" for word in self.words).encode()

    @property
    def fingerprint(self) -> str:
        """Changes with any word, and with their order."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()[:16]

    @property
    def size(self) -> int:
        """The number of words, with the four specials."""
        return len(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._index()

    def word(self, i: int) -> str:
        """Returns the word of an id."""
        return self.words[i]

    def id(self, word: str) -> int:
        """Returns the id of a word, `UNK` if it is not in the vocabulary."""
        return self._index().get(word, special.UNK)

    def _index(self):
        if self._ids is None:
            first = len(special.SPECIAL_TOKENS)
            self._ids = {w: i for i, w in enumerate(self.words) if i >= first}
        return self._ids

    def table(self) -> tf.lookup.StaticHashTable:
        """Returns the table of word to int64 id, the same one at each call.

        An export must track it. It reads the vocabulary's file, if it has one.
        """
        if self._table is None:
            with tf.init_scope():
                self._table = self._make_table(special.UNK)
        return self._table

    def words_by_id(self) -> tf.lookup.StaticHashTable:
        """Makes the table of an export, from ids to words; `<unk>` by default.

        It reads the vocabulary's file, if it has one.
        """
        return self._make_table(special.SPECIAL_TOKENS[special.UNK], order=-1)

    def _make_table(self, default, order=1):
        if self.path is None:
            columns = self.words, tf.range(self.size, dtype=tf.int64)
            initializer = tf.lookup.KeyValueTensorInitializer(*columns[::order])
        else:
            word = tf.string, tf.lookup.TextFileIndex.WHOLE_LINE
            number = tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
            key, value = (word, number)[::order]
            initializer = tf.lookup.TextFileInitializer(self.path, *key, *value)
        return tf.lookup.StaticHashTable(initializer, default)

    def lookup(self, words):
        """Looks up the ids of words.

        Args:
            words: String tensor or ragged tensor of any shape.

        Returns:
            int32 tensor of the same shape; unknown words are `UNK`.
        """
        if isinstance(words, tf.RaggedTensor):
            return words.with_flat_values(self.lookup(words.flat_values))
        ids = tf.cast(self.table().lookup(words), tf.int32)
        # A word that is spelt like a special is still a word of the text.
        return tf.where(ids < len(special.SPECIAL_TOKENS), special.UNK, ids)


def table(items: Mapping, default=0):
    """Makes a look-up table of a graph, from words to words or numbers.

    Args:
        items: The values by their keys.
        default: The value of `""`, and of unknown keys.
    """
    items = {"": default, **items}  # TensorFlow refuses an empty table.
    kind = tf.string if isinstance(default, str) else tf.int32
    values = tf.constant([*items.values()], kind)
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([*items], values), default
    )


def count_words(
    pairs: Iterable[tuple],
    tokenizers: Sequence[Tokenizer],
    *,
    total: int | None = None,
    progress: bool = True,
) -> tuple[collections.Counter, ...]:
    """Counts the words of both sides of a corpus in one pass.

    The sentences are read in chunks and not kept; TensorFlow counts within a
    chunk, Python adds the chunks up.

    ```python
    english, french = data.count_words(pairs, tokenizers)
    english["river"]  # 2
    ```

    Args:
        pairs: Tuples of strings (or bytes), one string for each side; any
            number of sides.
        tokenizers: One for each side, whose `fold` returns the form that is
            counted.
        total: Number of pairs, for the time left; `pairs.num_pairs` if not
            given.
        progress: Whether to show a bar (on a terminal only).

    Returns:
        One `Counter` of words (`str`) for each side.
    """
    graph = _make_counting_graph(
        tuple(tokenizers), tuple(x.fingerprint for x in tokenizers)
    )

    def count_chunk(chunk):
        counted = graph(*(string_tensor(side) for side in zip(*chunk)))
        return [(w.numpy().tolist(), c.numpy().tolist()) for w, c in counted]

    counters = [collections.Counter() for _ in tokenizers]
    title = "Counting words"
    for counted in map_chunks(
        count_chunk, pairs, total=total, description=title, progress=progress
    ):
        for counter, (words, counts) in zip(counters, counted):
            get = counter.get
            for word, count_here in zip(words, counts):
                counter[word] = get(word, 0) + count_here
    return tuple(
        collections.Counter({w.decode(): n for w, n in counter.items()})
        for counter in counters
    )


# The parts of a corpus share a graph.
@functools.lru_cache(maxsize=4)
def _make_counting_graph(tokenizers, fingerprints):
    """Makes the function of texts, one side each, to words and counts.

    The fingerprints distinguish files of the same name that tokenizers read.
    """

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string)] * len(tokenizers),
        autograph=False,
    )
    def count(*sides):
        counted = []
        for tokenizer, text in zip(tokenizers, sides):
            words = tokenizer.fold(tokenizer.tokenize(text).flat_values)
            words, _, counts = tf.unique_with_counts(words)
            counted.append((words, counts))
        return counted

    return count.get_concrete_function()


def _check(words, path):
    """Raises a ValueError that names the fault of a vocabulary."""
    place = "vocabulary" if path is None else os.fspath(path)
    specials = special.SPECIAL_TOKENS
    for i, expected in enumerate(specials):
        received = words[i] if i < len(words) else "the end of the file"
        if received != expected:
            raise ValueError(
                f"{place}, line {i + 1}: not a vocabulary of tfcopy. Expected "
                f"the special words {' '.join(specials)} on lines 1 to "
                f"{len(specials)}. Received: {received!r}."
            )
    lines = {}
    for number, word in enumerate(words, start=1):
        if not is_word(word):
            raise ValueError(
                f"{place}, line {number}: expected one word without blanks. "
                f"Received: {word!r}."
            )
        if lines.setdefault(word, number) != number:
            raise ValueError(
                f"{place}, line {number}: the word {word!r} is already on "
                f"line {lines[word]}; each word may occur once."
            )
