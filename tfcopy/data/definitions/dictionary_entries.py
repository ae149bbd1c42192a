"""Dictionaries of definitions, as values and as files.

A file is UTF-8 text, plain or compressed, with one definition per line:

    # This is a comment.
    run<TAB>move fast by using one's feet<TAB>v
    run<TAB>a score in baseball<TAB>n
    #lemma<TAB>ran<TAB>run

The third field may be left out. It is the part of speech: `n`oun, `v`erb,
`a`djective or adve`r`b; anything else there, such as the name of a source, is
ignored. `#lemma` names the lemma of an irregular form, or states that it has
none: `#lemma<TAB>his` means that `his` is not the plural of `hi`. A line
`#tokenized` means that the definitions are tokens between blanks, as `save`
writes them.

References: Bahdanau et al., 2017, https://arxiv.org/abs/1706.00286, section 3;
WordNet's `morphy`, https://wordnet.princeton.edu, morphy(7WN).

A file of JSON, exact to the last token, can hold all that a `Definitions` can:
headwords that look like comments, and definitions that occur twice.
"""

import dataclasses
import functools
import gzip
import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from tfcopy.atomic_files import write_atomically
from tfcopy.data.corpora.corpus import fingerprint
from tfcopy.data.corpora.text_pairs import line_error, read_lines
from tfcopy.data.text.tokenization import Tokenizer, token_rows
from tfcopy.file_formats import parse_json

# By part of speech, (pattern, rewrite) pairs; the first that yields a headword
# of that part of speech counts. Adverbs have none.
RULES = {
    "n": (
        (r"(.[^s])s$", r"\1"),  # Neither `boss` nor `us` is a plural.
        (r"ses$", "s"),
        (r"ves$", "f"),
        (r"xes$", "x"),
        (r"zes$", "z"),
        (r"ches$", "ch"),
        (r"shes$", "sh"),
        (r"men$", "man"),
        (r"ies$", "y"),
    ),
    "v": (
        (r"s$", ""),
        (r"ies$", "y"),
        (r"es$", "e"),
        (r"es$", ""),
        (r"ed$", "e"),
        (r"ed$", ""),
        (r"ing$", "e"),
        (r"ing$", ""),
    ),
    "a": ((r"er$", ""), (r"est$", ""), (r"er$", "e"), (r"est$", "e")),
}


def lemma(form: str, part_of_speech: str, headwords) -> str | None:
    """Finds the lemma of a form by the rules.

    Args:
        form: A word in lower case.
        part_of_speech: `"n"`, `"v"`, `"a"` or `"r"`.
        headwords: Container of the headwords of that part of speech.

    Returns:
        One of `headwords` that is not `form`, or `None`.
    """
    for pattern, rewrite in RULES.get(part_of_speech, ()):
        stem = re.sub(pattern, rewrite, form)
        if stem != form and stem in headwords:
            return stem
    return None


PARTS_OF_SPEECH = "nvar"
UNKNOWN = "-"

_COMMENT = "# "
_LEMMA = "#lemma"
_TOKENIZED = "#tokenized"


@dataclasses.dataclass(frozen=True)
class Definitions:
    """Headwords with all their definitions.

    Args:
        headwords: Distinct words, or words between single blanks.
        definitions: For each headword its definitions, at least one, the most
            important first; each is a tuple of at least one token.
        lemmas: Irregular forms in lower case, with the lemmas of each, which
            may be none.
        parts_of_speech: For each headword a letter for each definition: `n`,
            `v`, `a`, `r`, or `-`, the default, if unknown.
    """

    headwords: tuple[str, ...]
    definitions: tuple[tuple[tuple[str, ...], ...], ...]
    lemmas: Mapping[str, tuple[str, ...]] = dataclasses.field(
        default_factory=dict
    )
    parts_of_speech: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.parts_of_speech:
            unknown = (UNKNOWN * len(senses) for senses in self.definitions)
            object.__setattr__(self, "parts_of_speech", tuple(unknown))

    @classmethod
    def from_texts(
        cls,
        entries: Iterable[tuple[str, str, str]],
        lemmas: Mapping[str, tuple[str, ...]] | None = None,
    ) -> "Definitions":
        """Gathers the definitions of each headword, each once, in order.

        Args:
            entries: `(headword, definition, part of speech)` triples. A
                definition without any token is left out.
            lemmas: As in `Definitions`.
        """
        entries = list(entries)
        tokens = _tokenize(list(dict.fromkeys(text for _, text, _ in entries)))
        return _gather(
            ((word, tokens[text], part) for word, text, part in entries), lemmas
        )

    @classmethod
    def load(cls, path) -> "Definitions":
        """Reads a file; definitions that are not tokens yet are cut into them.

        Args:
            path: A file of the form above.

        Raises:
            ValueError: naming file and line.
        """
        entries, lemmas, is_tokenized = [], {}, False
        for number, line in enumerate(read_lines(path), start=1):
            fields = [" ".join(field.split()) for field in line.split("\t")]
            if line.startswith(_COMMENT) or not any(fields):
                continue
            if fields == [_TOKENIZED]:
                is_tokenized = True
            elif fields[0] == _LEMMA and len(fields) in (2, 3) and fields[1]:
                found = lemmas.get(fields[1], ())
                lemmas[fields[1]] = found + tuple(filter(None, fields[2:]))
            elif len(fields) in (2, 3) and all(fields[:2]):
                entries.append((fields[0], fields[1], _part(fields[2:])))
            else:
                expected = (
                    "a headword, its definition and no more than one further "
                    "field, between tabulators"
                )
                raise line_error(path, number, expected, line)
        if is_tokenized:
            rows = (
                (word, tuple(text.split()), part)
                for word, text, part in entries
            )
            return _gather(rows, lemmas)
        return cls.from_texts(entries, lemmas)

    def save(self, path, notice: str = "") -> None:
        """Writes a file that `load` reads back, atomically.

        Args:
            path: The file; gzipped if its name ends in `.gz`.
            notice: Lines to write as comments, such as a licence.

        Raises:
            ValueError: naming a headword or definition that cannot be written.
        """
        comments = (f"{_COMMENT}{line}" for line in notice.splitlines())
        lines = itertools.chain(comments, self._lines())
        data = "".join(f"{line}\n" for line in lines).encode()
        if os.fspath(path).endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        write_atomically(path, lambda file: file.write(data))

    @functools.cached_property
    def fingerprint(self) -> str:
        """Changes with anything that the file would hold."""
        return fingerprint(*self._lines())

    def _lines(self) -> Iterator[str]:
        yield _TOKENIZED
        for form, lemmas in self.lemmas.items():
            for lemma in lemmas or [""]:
                yield "\t".join([_LEMMA, form, lemma])
        for word, senses, parts in zip(
            self.headwords, self.definitions, self.parts_of_speech
        ):
            _check_writable(word)
            for tokens, part in zip(senses, parts):
                text = " ".join(tokens)
                if tuple(text.split()) != tokens:
                    raise ValueError(
                        f"The definitions of {word!r} must be tuples of tokens "
                        f"without blanks. Received: {tokens!r}."
                    )
                yield "\t".join([word, text] + [part] * (part != UNKNOWN))


def _check_writable(word):
    is_comment = word.startswith(_COMMENT) or word in (_LEMMA, _TOKENIZED)
    if is_comment or " ".join(word.split()) != word:
        raise ValueError(
            "`headwords` must be words with single spaces between them, and "
            f"not comments. Received: {word!r}."
        )


def _part(fields):
    """Returns the part of speech in the third field, if there is one."""
    if fields and fields[0] and fields[0] in PARTS_OF_SPEECH:
        return fields[0]
    return UNKNOWN


def _tokenize(texts):
    """Tokenizes English texts; equal tokens are one object."""
    rows = token_rows(
        texts,
        Tokenizer(keeps=""),
        total=len(texts),
        description="Cutting definitions into tokens",
    )
    return {
        text: tuple(sys.intern(token.decode()) for token in row)
        for text, row in zip(texts, rows)
    }


def _gather(entries, lemmas):
    """Builds `Definitions` from `(headword, tokens, part of speech)`."""
    senses = {}
    for word, tokens, part in entries:
        if tokens:
            senses.setdefault(word, {}).setdefault(tokens, part)
    return Definitions(
        tuple(senses),
        tuple(tuple(parts) for parts in senses.values()),
        dict(lemmas or {}),
        tuple("".join(parts.values()) for parts in senses.values()),
    )


def to_bytes(definitions: Definitions) -> bytes:
    """Returns the content of the file: gzipped JSON."""
    fields = dataclasses.fields(definitions)
    content = {field.name: getattr(definitions, field.name) for field in fields}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "surrogatepass"), 6, mtime=0)


def from_bytes(data: bytes) -> Definitions:
    """Restores definitions from the output of `to_bytes`.

    Raises:
        ValueError, KeyError, TypeError, OSError, EOFError: If it is damaged.
    """
    text = gzip.decompress(data).decode("utf-8", "surrogatepass")
    content = parse_json(text)

    def tokens(texts):
        return tuple(sys.intern(text) for text in texts)

    return Definitions(
        headwords=tuple(content["headwords"]),
        definitions=tuple(
            tuple(map(tokens, senses)) for senses in content["definitions"]
        ),
        lemmas={form: tuple(x) for form, x in content["lemmas"].items()},
        parts_of_speech=tuple(content["parts_of_speech"]),
    )
