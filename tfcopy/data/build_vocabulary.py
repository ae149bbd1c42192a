r"""Counts the words of text files and writes the most frequent as a vocabulary.

    python -m tfcopy.data.build_vocabulary \
        --input europarl-v7.fr-en.en --size 30000 --output vocabulary.en

Several files, plain or compressed, one text a line, are counted together. A
recipe with the same --tokenization, --language and --lowercase has the same
words. It reads the file by --source_vocabulary or --target_vocabulary: one word
a line, the four special ones first.
"""

import dataclasses
import sys
from typing import Literal

from tfcopy import terminal
from tfcopy.atomic_files import check_files
from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.data.text.span_patterns import CHOICES, check_flag
from tfcopy.flags import File, Parser, PositiveInt, flag


@dataclasses.dataclass(kw_only=True)
class Options:
    """Files, and the division of text into words.

    Attributes:
        input: text files to count
        output: vocabulary file to write
        size: most words, the four special ones included
        min_count: rarer words are left out
        tokenization: how text is cut into words; space if it already is
        language: language of the text, for moses
        lowercase: count lower-cased words
        sentencepiece_model: model whose subwords are counted
    """

    input: list[File]
    output: File
    size: PositiveInt = 30_000
    min_count: PositiveInt = 1
    tokenization: Literal["moses", "space", "characters", "sentencepiece"] = (
        "moses"
    )
    language: str = "en"
    lowercase: bool = False
    sentencepiece_model: File | None = None
    protect: list[str] = flag([], f"spans that are one word each: {CHOICES}")


def run(options: Options) -> str:
    """Counts the words, writes the vocabulary and returns a summary.

    Raises:
        OSError, ValueError: naming the file or the flag.
    """
    check_flag(options.protect)
    check_files({"--output": options.output}, {"--input": options.input})
    # Late: they import TensorFlow, for which wrong flags need not wait.
    with terminal.quiet():
        from tfcopy.data.text.vocabulary import Vocabulary, count_words

    lines = (
        (x,) for path in options.input for x in read_lines(path, once=True)
    )
    (counts,) = count_words(lines, [_tokenizer(options)])
    if not counts:
        raise ValueError(f"--input: no word in {', '.join(options.input)}.")
    try:
        vocabulary = Vocabulary.build(counts, options.size, options.min_count)
    except ValueError as error:
        raise ValueError(f"--size: {error}") from None
    vocabulary.save(options.output)
    covered = sum(counts[word] for word in vocabulary.words)
    return (
        f"{options.output}: {vocabulary.size:,} words, four of them special, "
        f"of {len(counts):,} different ones; they make "
        f"{covered / counts.total():.2%} of the text"
    )


def _tokenizer(options):
    from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
    from tfcopy.data.text.sentencepiece_tokenizer import make_tokenizers

    models = [options.sentencepiece_model] * bool(options.sentencepiece_model)
    (tokenizer,) = make_tokenizers(
        options.tokenization, [options.language], options.lowercase, models
    )
    if options.protect:
        tokenizer = ProtectedTokenizer(tokenizer, tuple(options.protect))
    return tokenizer


def main(arguments=None):
    """Returns the exit status."""
    options = Parser(Options, __doc__).parse(arguments)
    return terminal.run("build_vocabulary", lambda: print(run(options)))


if __name__ == "__main__":
    sys.exit(main())
