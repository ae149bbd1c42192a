"""The demo corpus of documentation: texts of programs, English-Spanish.

Its sentences come from a grammar (`demo_catalogs_grammar.py`) and look like a
translation team's gettext catalogues: messages with placeholders, and
documentation whose code, options, files and addresses are spans of markup. Most
spans of the validation and test sentences never occur in training, so only a
model that copies them can translate.
"""

import functools
import os
from collections.abc import Iterator

from tfcopy.data.corpora.corpus import TranslationCorpus
from tfcopy.data.generated import generated_corpus
from tfcopy.data.generated.demo_catalogs_grammar import Grammar

LANGUAGES = ("en", "es")


def load(
    data_dir: str | os.PathLike | None = None,
    *,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 1_000,
    seed: int = 0,
    source_language: str = "en",
) -> TranslationCorpus:
    """Generates the demo corpus, or reads it if it was generated before.

    Args:
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        num_train: Number of training pairs.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        seed: The same seed gives the same sentences on every machine.
        source_language: `"en"` or `"es"`.
    """
    pairs = generated_corpus.GeneratedPairs(
        corpus="demo_catalogs",
        sides=LANGUAGES,
        generate=generate,
        grammar=_grammar_fingerprint(),
        seed=seed,
        num_train=num_train,
        num_validation=num_validation,
        num_test=num_test,
    )
    return generated_corpus.load(pairs, data_dir, source=source_language)


def examples() -> list[tuple[str, str]]:
    """Sentences whose spans are in no generated text, and their translations.

    They are of other alphabets, of real programs, or hold other markup inside.
    """
    return list(_EXAMPLES)


_EXAMPLES = (
    (
        "The ``größe`` argument of :func:`numpy.linalg.eigh` is deprecated; "
        "use ``UPLO`` instead.",
        "El argumento ``größe`` de :func:`numpy.linalg.eigh` está obsoleto; "
        "use ``UPLO`` en su lugar.",
    ),
    (
        "See https://ja.wikipedia.org/wiki/文字コード for details.",
        "Consulte https://ja.wikipedia.org/wiki/文字コード para más detalles.",
    ),
    (
        'Cannot open the file "%(Dateiname)-20s": permission denied.',
        "No se puede abrir el archivo «%(Dateiname)-20s»: permiso denegado.",
    ),
    (
        "Use ``rsync -avz --exclude '*.o'`` instead of ``cp -R {src,doc}`` to "
        "copy the files.",
        "Use ``rsync -avz --exclude '*.o'`` en lugar de ``cp -R {src,doc}`` "
        "para copiar los archivos.",
    ),
    (
        ":exc:`~http.client.BadStatusLine` is raised by "
        ":meth:`!HTTPConnection.getresponse`.",
        ":meth:`!HTTPConnection.getresponse` lanza "
        ":exc:`~http.client.BadStatusLine`.",
    ),
)


def generate(split: str, num_pairs: int, seed: int = 0) -> Iterator:
    """Yields English-Spanish pairs without storing them anywhere."""
    grammar = Grammar(seed, split)
    for _ in range(num_pairs):
        entry = grammar.entry()
        yield entry.en, entry.es


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that a stale corpus is never read."""
    tables = ("names", "patterns", "words")
    return generated_corpus.grammar_fingerprint(
        (f"demo_catalogs_{table}" for table in tables),
        list(generate("train", 200)),
    )
