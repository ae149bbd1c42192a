"""WordNet, as `Definitions`.

It is read from the files of its database, `index.noun`, `data.noun`,
`noun.exc` and so on, as Debian's `wordnet-base` installs them in
`/usr/share/wordnet`, and NLTK in `corpora/wordnet`. Other wordnets in the same
format, such as Open English WordNet, are read as well.

Reference: wndb(5WN), https://wordnet.princeton.edu/documentation/wndb5wn.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator

from tfcopy.data.corpora.text_pairs import line_error, read_lines
from tfcopy.data.definitions import dictionary_entries
from tfcopy.data.definitions.dictionary_entries import Definitions

_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# The text before the first example is the definition.
_EXAMPLES = re.compile(r'[;:,]\s*".*')
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # the syntactic marker of an adjective


def read(folder) -> Definitions:
    """Reads the database.

    Headwords are as the synsets write them, in lower or upper case, with blanks
    for underscores, and sorted. The definitions of each are its glosses without
    the examples: the most frequent sense of each part of speech first, nouns,
    verbs, adjectives, adverbs in turn, then the second of each, so that the
    first ones are a fair choice. The exceptions list the lemmas. If a form is
    an exception of only some parts of speech, the rules find lemmas of the
    others.

    Args:
        folder: Folder of the files.

    Raises:
        ValueError: naming file and line.
    """
    senses, known, exceptions = {}, {}, {}
    for part, name in _FILES.items():
        synsets = dict(_synsets(os.path.join(folder, f"data.{name}")))
        known[part] = set()
        index = os.path.join(folder, f"index.{name}")
        for number, word, offsets in _index(index):
            known[part].add(word)
            for offset in offsets:
                if offset not in synsets:
                    raise _error(index, number, "offsets of synsets", offset)
                gloss, written = synsets[offset]
                for headword in written.get(word, ()):
                    by_part = senses.setdefault(headword, {})
                    by_part.setdefault(part, []).append((gloss, part))
        exceptions[part] = _exceptions(os.path.join(folder, f"{name}.exc"))
    entries = (
        (headword, gloss, part)
        for headword in sorted(senses)
        for gloss, part in _interleave(senses[headword].values())
    )
    return Definitions.from_texts(entries, _lemmas(exceptions, known))


def licence(folder) -> str:
    """Reads the notice that every copy must hold, the first lines of a file."""
    lines = itertools.takewhile(
        lambda line: line.startswith(" "),
        read_lines(os.path.join(folder, "data.noun")),
    )
    return "\n".join(re.sub(r"^ *\d+ ?", "", line).rstrip() for line in lines)


def _rows(path) -> Iterator[tuple[int, str]]:
    """Yields the lines after the licence, whose lines begin with blanks."""
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip() and not line.startswith(" "):
            yield number, line


def _synsets(path) -> Iterator[tuple[str, tuple[str, dict[str, list[str]]]]]:
    """Yields `(offset, (gloss, words))`, words by their lower-case forms."""
    for number, line in _rows(path):
        columns, bar, gloss = line.partition("|")
        fields = columns.split()
        try:
            end = 4 + 2 * int(fields[3], 16)
        except (IndexError, ValueError):
            end = 4
        if not bar or not 4 < end <= len(fields):
            raise _error(path, number, "a synset", line)
        written = {}
        for word in fields[4:end:2]:
            word = _to_spaces(_MARKER.sub("", word))
            written.setdefault(word.lower(), []).append(word)
        yield fields[0], (_EXAMPLES.sub("", gloss).strip("; "), written)


def _index(path) -> Iterator[tuple[int, str, list[str]]]:
    """Yields `(line number, word, offsets)`, frequent senses first."""
    for number, line in _rows(path):
        fields = line.split()
        try:
            num_synsets, num_pointers = int(fields[2]), int(fields[3])
        except (IndexError, ValueError):
            num_synsets = num_pointers = 0
        if not 0 < num_synsets == len(fields) - 6 - num_pointers:
            raise _error(path, number, "a word and its synsets", line)
        yield number, _to_spaces(fields[0]), fields[-num_synsets:]


def _exceptions(path) -> dict[str, list[str]]:
    found = {}
    for number, line in _rows(path):
        form, *lemmas = map(_to_spaces, line.split())
        if not lemmas:
            raise _error(path, number, "a form and its lemmas", line)
        found.setdefault(form, []).extend(lemmas)
    return found


def _lemmas(exceptions, known) -> dict[str, tuple[str, ...]]:
    """Finds the lemmas of all forms that are listed as exceptions.

    Args:
        exceptions: By part of speech, lemmas by form.
        known: By part of speech, all headwords in lower case.
    """
    lemmas = {}
    for form in itertools.chain.from_iterable(exceptions.values()):
        found = []
        for part, headwords in known.items():
            rule = dictionary_entries.lemma(form, part, headwords)
            listed = exceptions[part].get(form, [rule])
            found += [lemma for lemma in listed if lemma in headwords]
        # An exception that is its own lemma only keeps the rules away.
        lemmas[form] = tuple(dict.fromkeys(x for x in found if x != form))
    return lemmas


def _interleave(lists: Iterable[list]) -> Iterator:
    """Yields the first of each list, the second of each, and so on."""
    for items in itertools.zip_longest(*lists):
        yield from (item for item in items if item is not None)


def _to_spaces(word):
    return word.replace("_", " ")


def _error(path, number, expected, received):
    expected = f"{expected}, in the format of WordNet's database"
    return line_error(path, number, expected, received)


# Common nouns of three categories, to see whether a model separates them. They
# are the categories that the paper draws (Bahdanau et al., 2017,
# https://arxiv.org/abs/1706.00286, section 4.2), and nouns as in the BLESS set
# (Baroni and Lenci, 2011, https://aclanthology.org/W11-2501), but our own
# choice: single words of which WordNet 3.0 has a definition in that category.
NOUNS_BY_CATEGORY = {
    name: tuple(nouns.split())
    for name, nouns in {
        "fruit": (
            "apple apricot banana blueberry cherry coconut grape "
            "grapefruit lemon mango melon orange peach pear pineapple "
            "plum raspberry strawberry"
        ),
        "tool": (
            "axe chisel crowbar drill hammer hatchet hoe mallet pickaxe "
            "pitchfork pliers rake saw scissors screwdriver shovel spade wrench"
        ),
        "vehicle": (
            "ambulance bicycle boat bus car ferry glider helicopter motorcycle "
            "scooter ship submarine taxi tractor tram truck van yacht"
        ),
    }.items()
}
