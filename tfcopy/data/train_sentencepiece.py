r"""Trains a SentencePiece model for `--tokenization sentencepiece`.

    python -m tfcopy.data.train_sentencepiece \
        --input europarl-v7.fr-en.en europarl-v7.fr-en.fr \
        --vocab_size 16000 --output europarl.model

Several files, plain or compressed, one sentence per line, make one joint model.
`--merges 20000` trains byte-pair encoding with that number of merges. Of over a
million lines a random sample of that size is read.
"""

import dataclasses
import io
import itertools
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from typing import Literal

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
)

from tfcopy import terminal
from tfcopy.atomic_files import check_files, write_atomically
from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.data.text import blanks
from tfcopy.data.text.span_patterns import CHOICES, check_flag
from tfcopy.flags import File, Parser, PositiveInt, flag

# The only normalisation: "▁" is a blank, as which it is read in any case.
_RULES = "2581\t20\n"
# Their field in a model's file, `normalizer_spec.normalization_rule_tsv`.
_PROTOCOL = """name: "model"
    message_type {name: "Rules" field {
        name: "path" number: 6 type: TYPE_STRING}}
    message_type {name: "Model" field {
        name: "rules" number: 3 type: TYPE_MESSAGE type_name: ".Rules"}}"""
# SentencePiece drops longer lines, and those with this character, unsaid.
_MOST_BYTES = 4192
_RESERVED = "▅"


def train(
    lines: Iterable[str],
    vocab_size: int,
    path,
    *,
    model_type: str = "unigram",
    max_lines: int = 1_000_000,
    seed: int = 0,
    protect: Sequence[str] = (),
    **options,
):
    """Trains a model that keeps all characters as they are.

    Args:
        lines: Sentences; longer ones than 4,192 bytes are cut, at blanks if
            there are any.
        vocab_size: Number of pieces, with three that SentencePiece reserves.
        path: The file to write, usually `<name>.model`.
        model_type: `"unigram"` or `"bpe"`.
        max_lines: If there are more lines, a random sample of this size is
            used, and a message printed.
        seed: Seed of that sample.
        protect: As in `ProtectedTokenizer`: spans are not cut, and their
            placeholder character is a piece of its own.
        options: More options of `sentencepiece.SentencePieceTrainer`.

    Raises:
        ValueError: if the lines are too few for that many pieces.
    """
    import sentencepiece

    num_lines = 0
    failures = []  # of the lines, which SentencePiece would call its own
    if protect:
        with terminal.quiet():
            from tfcopy.tokens import SPAN

        lines = _replace_spans(lines, protect)
        options["user_defined_symbols"] = [SPAN]

    def sentences():
        nonlocal num_lines
        try:
            for line in lines:
                for part in _parts(_normalize(line)):
                    num_lines += 1
                    yield part
        except Exception as error:
            failures.append(error)
            raise

    sentencepiece.set_random_generator_seed(seed)
    model = io.BytesIO()
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
            # Without any rule it prints that there is none, at each loading.
            rules.write(_RULES)
            rules.flush()
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=sentences(),
                model_writer=model,
                model_type=model_type,
                vocab_size=vocab_size,
                input_sentence_size=max_lines,
                shuffle_input_sentence=True,
                normalization_rule_tsv=rules.name,
                unk_surface="<unk>",
                minloglevel=2,
                **options,
            )
    except RuntimeError as error:
        if failures:
            raise failures[0] from None
        reason = str(error).split("] ")[-1].strip()
        raise ValueError(
            f"SentencePiece cannot make {vocab_size} pieces of this text: "
            f"{reason or 'there is none.'}"
        ) from None
    if num_lines > max_lines:
        print(
            f"{path}: learned from {max_lines:,} of {num_lines:,} lines, "
            "drawn at random.",
            file=sys.stderr,
        )
    content = _remove_path(model.getvalue())
    write_atomically(path, lambda file: file.write(content))


def _remove_path(model: bytes) -> bytes:
    """Removes the path of its rules, different each time, from a model."""
    file = descriptor_pb2.FileDescriptorProto()
    pool = descriptor_pool.DescriptorPool()
    pool.Add(text_format.Parse(_PROTOCOL, file))
    message = message_factory.GetMessageClass(
        pool.FindMessageTypeByName("Model")
    ).FromString(model)
    message.rules.ClearField("path")
    return message.SerializeToString(deterministic=True)


def _normalize(line):
    return blanks.normalize(line.replace(_RESERVED, " "))


def _parts(line):
    """Cuts a line into parts that are short enough for SentencePiece.

    It is cut at blanks, and only a longer word within.
    """
    data, start = line.encode("utf-8", "replace"), 0
    while len(data) - start > _MOST_BYTES:
        end = data.rfind(b" ", start, start + _MOST_BYTES + 1)
        if end < 0:
            end = start + _MOST_BYTES
            while data[end] & 0xC0 == 0x80:  # The rest of a character.
                end -= 1
        yield data[start:end].decode()
        start = end + data.startswith(b" ", end)
    yield data[start:].decode()


def _replace_spans(lines, protect):
    """Replaces spans of the lines by `SPAN`."""
    with terminal.quiet():
        from tfcopy.data.text.protected_tokenizer import cut_out
        from tfcopy.data.text.tokenization import string_tensor

    while chunk := list(itertools.islice(lines := iter(lines), 10_000)):
        rest, _ = cut_out(string_tensor(chunk), protect)
        yield from (line.decode() for line in rest.numpy())


def train_bpe(lines: Iterable[str], merges: int, path, **options):
    """Trains byte-pair encoding with a number of merges, and all characters.

    Args:
        lines: Sentences; they are read twice.
        merges: Positive integer.
        path: As in `train`.
        **options: As in `train`.

    Raises:
        ValueError: if the lines are too few for that many merges.

    Reference:
        [Sennrich et al., 2016](https://arxiv.org/abs/1508.07909), section 3.2.
    """
    alphabet = set()
    for line in lines:
        alphabet.update(_normalize(line))
    others = len(alphabet - {" "} | {"▁"}) + 3  # which SentencePiece reserves
    try:
        train(
            lines,
            merges + others,
            path,
            model_type="bpe",
            character_coverage=1.0,
            **options,
        )
    except ValueError as error:
        most = re.search(r"<= (\d+)", str(error))
        if not most:
            raise
        raise ValueError(
            f"this text has {int(most[1]) - others:,} merges only. "
            f"Received: {merges:,}."
        ) from None


def lines_of(paths: Iterable) -> Iterable[str]:
    """Yields the lines of files; invalid UTF-8 becomes U+FFFD."""
    for path in paths:
        yield from read_lines(path, errors="replace", once=True)


@dataclasses.dataclass(kw_only=True)
class Options:
    """Files, and the kind of pieces.

    Attributes:
        input: text files to train on
        vocab_size: number of pieces
        merges: number of merges of byte-pair encoding, instead of
            --vocab_size and --model_type
        output: model file to write
        model_type: how pieces are chosen
    """

    input: list[File]
    vocab_size: PositiveInt = 16_000
    merges: PositiveInt | None = None
    output: File
    protect: list[str] = flag(
        [], f"spans that are not cut, such as code and links: {CHOICES}"
    )
    model_type: Literal["unigram", "bpe"] = "unigram"


def main(arguments=None):
    """Returns the exit status."""
    options = Parser(Options, __doc__).parse(arguments)
    return terminal.run("train_sentencepiece", lambda: _run(options))


def _run(options):
    check_flag(options.protect)
    check_files({"--output": options.output}, {"--input": options.input})
    size = f"{options.vocab_size:,} pieces"
    if options.merges is not None:
        size = f"{options.merges:,} merges"
        lines = list(lines_of(options.input))
        train_bpe(
            lines, options.merges, options.output, protect=options.protect
        )
    else:
        train(
            lines_of(options.input),
            options.vocab_size,
            options.output,
            model_type=options.model_type,
            protect=options.protect,
        )
    print(f"{options.output}: {size}")


if __name__ == "__main__":
    sys.exit(main())
