"""Lines of text in, answers out: shared by the commands that answer texts.

Shapes: T target tokens, S source tokens; N and M words after joining.
"""

import contextlib
import dataclasses
import functools
import itertools
import queue
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tfcopy import file_forms
from tfcopy.flags import File, PositiveInt
from tfcopy.runtime import ask_texts
from tfcopy.runtime.commands import write
from tfcopy.runtime.signatures import AskError
from tfcopy.terminal import one_line, shown
from tfcopy.tokens import BLANK, START

# Padding of the n-best list has a lower score.
_LOWEST_SCORE = -1e8
_WORD = re.compile(r"\w+|[^\w\s]")
# Subwords, or tokens, that a word or a punctuation mark may be split into.
_PIECES = 2


def size_of(text: str) -> int:
    """Returns the number of words and punctuation marks in a text."""
    return len(_WORD.findall(text))


def may_be_cut(text: str, max_words: int) -> bool:
    """Returns whether a model may truncate a text.

    Args:
        text: The text.
        max_words: Maximum number of tokens that the model reads.
    """
    return max(_PIECES * size_of(text), len(text) / _PIECES) > max_words


class Translation(NamedTuple):
    """A translation of a text.

    Attributes:
        text: The translation.
        score: Its log-probability, after the penalties of the search; 0 for
            a blank text.
        tokens: Its tokens.
        copied_from: For each token the source position it was copied from, -1
            if it was generated.
        source_tokens: Tokens of the source, after truncation.
        generate_probs: For each token the probability of generating rather
            than copying; in training for the end, too.
        aligned_to: For each token the source position of highest attention.
    """

    text: str
    score: float
    tokens: list[str] = []
    copied_from: list[int] = []
    source_tokens: list[str] = []
    generate_probs: list[float] = []
    aligned_to: list[int] = []

    @property
    def pharaoh(self) -> str:
        """Returns the alignment as `0-0 1-2`: source and target positions."""
        return " ".join(f"{j}-{i}" for i, j in enumerate(self.aligned_to))


def num_words(answer: Translation) -> int:
    """Returns the number of source tokens that were read, without `</s>`."""
    words = answer.source_tokens
    return len(words) - (words[-1:] == [_END])


def is_cut(answer: Translation, max_words: int) -> bool:
    """Returns whether a model may have truncated a text.

    Args:
        answer: Output of `analyse` for the text.
        max_words: As in `may_be_cut`.
    """
    return num_words(answer) >= max_words


def found(row: Mapping) -> list[int]:
    """Returns the numbers of the hypotheses; the first is always included.

    Args:
        row: Dict of `texts` and `scores`, `(N,)`, of one example.
    """
    return [
        i
        for i, (text, score) in enumerate(zip(row["texts"], row["scores"]))
        if i == 0 or (score > _LOWEST_SCORE and (text or score))
    ]


def rows(outputs: Mapping, count: int) -> Iterator[dict]:
    """Yields the outputs for each example, the first axis of the arrays."""
    for i in range(count):
        yield {name: x[i] for name, x in outputs.items()}


def translations_of(
    row: Mapping, count: int | None = None
) -> list[Translation]:
    """Returns the `Translation`s of a text, the best first.

    Args:
        row: Dict of outputs for the text: `text` and `score`; or, from
            `analyse`, `texts` and `scores`, `(N,)`, `tokens` and
            `copied_from`, `(N, T)`, and `source_tokens`, `(S,)`. It may have
            probabilities of generating, `emission_probs`, `(N, T + 1)` with -1
            after the end, or `generate_probability`, `(N, T)`, and `attention`,
            `(N, T, S)`, for the alignment.
        count: Maximum number of translations; all if `None`.

    Raises:
        ValueError: If there is none.
    """
    if "texts" not in row:
        text = row["text"].decode(errors="replace")
        return [Translation(text, float(row["score"]))]
    source = decoded(row["source_tokens"])
    answers = []
    for i in found(row)[:count]:
        words = decoded(row["tokens"][i])
        if "emission_probs" in row:
            generate = [p for p in row["emission_probs"][i].tolist() if p >= 0]
        elif "generate_probability" in row:
            generate = row["generate_probability"][i, : len(words)].tolist()
        else:
            generate = []
        aligned = []
        if "attention" in row and source and words:
            weights = row["attention"][i, : len(words), : len(source)]
            aligned = weights.argmax(-1).tolist()
        answers.append(
            Translation(
                text=row["texts"][i].decode(errors="replace"),
                score=float(row["scores"][i]),
                tokens=words,
                copied_from=row["copied_from"][i, : len(words)].tolist(),
                source_tokens=source,
                generate_probs=generate,
                aligned_to=aligned,
            )
        )
    if not answers:
        raise ValueError("no hypothesis")
    return answers


def decoded(words) -> list[str]:
    """Returns words, `bytes` padded with empty ones, as strings."""
    return [word.decode(errors="replace") for word in words if word]


_END = "</s>"


class Shown(NamedTuple):
    """A translation as it is displayed, with its source.

    Attributes:
        words: Words of the translation.
        source: Words of the source, with `</s>`.
        copied_from: For each word the source word it was copied from; -1 if
            any part of it was generated.
        generate: `(N,)`, probabilities of generating rather than copying,
            averaged over the subwords of a word.
        attention: `(N, M)`, averaged over the subwords of a target word and
            summed over those of a source word.
    """

    words: list[str]
    source: list[str]
    copied_from: list[int]
    generate: np.ndarray
    attention: np.ndarray


def join_pieces(answer: Shown, pieces: dict) -> Shown:
    """Joins subwords to words.

    Args:
        answer: The translation in tokens.
        pieces: Dict of `source` and `target`: whether their tokens are subwords
            that begin with `▁` at the beginning of a word.
    """
    source, target = (
        _starts(tokens, pieces.get(side, False))
        for tokens, side in (
            (answer.source, "source"),
            (answer.words, "target"),
        )
    )
    attention = np.asarray(answer.attention)
    if len(source):
        attention = np.add.reduceat(attention, source, axis=1)
    generate, counts = answer.generate, np.diff([*target, len(answer.words)])
    if len(target):
        attention = np.add.reduceat(attention, target, axis=0)
        attention = attention / counts[:, None]
        generate = np.add.reduceat(np.asarray(generate), target) / counts
    # Index of the word at each source position.
    owners = np.cumsum(np.isin(np.arange(len(answer.source)), source)) - 1
    copied_from = [
        -1 if min(places) < 0 else int(owners[places[0]])
        for places in _parts(answer.copied_from, target)
    ]
    return answer._replace(
        words=_joined(answer.words, target, pieces.get("target", False)),
        source=_joined(answer.source, source, pieces.get("source", False)),
        copied_from=copied_from,
        generate=generate,
        attention=attention,
    )


def _starts(tokens, are_pieces):
    """Returns the positions where words begin."""
    return [
        i
        for i, token in enumerate(tokens)
        if not are_pieces
        or i == 0
        or token.startswith(BLANK)
        or _END in (token, tokens[i - 1])
    ]


def _parts(values, starts):
    ends = [*starts[1:], len(values)]
    return [values[start:end] for start, end in zip(starts, ends)]


def _joined(tokens, starts, are_pieces):
    if not are_pieces:
        return tokens
    # The start symbol is no text, and counts as part of the first word.
    words = ["".join(part) for part in _parts(tokens, starts)]
    return [x.replace(START, "").replace(BLANK, " ").strip() for x in words]


# Epilogue of the commands' help.
FORMS = """\
--dictionary FILE sends definitions with each line, for models that read them:
FILE has one per line, `headword<TAB>definition`; a headword may have several.
They replace the model's own definitions of these headwords. A JSON object may
have its own "dictionary", a list of such lines.

--glossary FILE has required translations, for models that were trained with
--protect, one per line, `phrase<TAB>translation`. If a text contains a phrase,
as whole words and in the same case, the answer contains the translation. They
take precedence over an exported glossary.

--n_best N writes lines `number ||| text ||| score`, the best first; input lines
are numbered from 0. --alignments adds ` ||| 0-0 1-2`, pairs of the positions of
a source word and of the answer's word with the highest attention to it, in
Pharaoh's format. There a ||| of a text is written as &#124;&#124;&#124;, as in
Moses. --json writes one object per line:
  text, score    the best answer and its log-probability
  tokens         its tokens
  source_tokens  tokens of the source (long texts are truncated), with </s>
  copied_from    each token's position in source_tokens, -1 if not copied
  aligned_to     each token's source position of highest attention
  n_best         with --n_best: a list of {text, score, tokens, copied_from,
                 aligned_to}
or, for models that do not translate, their whole answer, such as
  text, score, start, end     an answer, its log-probability and its position
  label, probabilities        of contradiction, neutral and entailment
  next_words, next_probabilities, log_probability, perplexity"""


@dataclasses.dataclass(kw_only=True)
class AnswerOptions:
    """Flags of answers to lines, shared by the commands.

    Attributes:
        n_best: write the N best answers (at most the model's beam size)
        json: write one JSON object per line
        alignments: write after each answer the source word of each of its
            words (see below)
        dictionary: definitions for each line (see below)
        glossary: translations that answers must contain (see below)
        batch_size: lines of a batch
    """

    n_best: PositiveInt | None = None
    json: bool = False
    alignments: bool = False
    dictionary: File | None = None
    glossary: File | None = None
    batch_size: PositiveInt = 32


def answer(model, options):
    """Answers the lines of standard input, in order.

    Args:
        model: An `ExportedModel`.
        options: The command's options.

    Raises:
        AskError: If the model does not support the options, or a line has the
            wrong form.
    """
    texts, numbers = model.inputs, itertools.count(1)
    answer_all = answering(model, options)
    for lines in _batches(_stdin(), model.chunk_size):
        examples = [
            ask_texts.parse(line, next(numbers), texts) for line in lines
        ]
        answers = answer_all(examples)
        write(b"".join(ask_texts.to_line(x) + b"\n" for x in answers))


def answering(model, options):
    """Returns the function that answers a list of examples.

    An example is a dict of texts, with a `dictionary`, a list of lines. An
    answer is a text without control characters, or a dict with --json.

    Args:
        model: An `ExportedModel`.
        options: The command's options.

    Raises:
        AskError: If the model does not support the options.
    """
    if not model.translates:
        return ask_texts.answering(model, options)
    if options.dictionary is not None:
        raise AskError(f"{model.name}: the model reads no --dictionary.")
    signature, form, more = "serving_default", _to_text, {}
    if options.json or options.n_best or options.alignments:
        signature, form = "analyse", _to_json if options.json else _to_lines
    if options.glossary is not None:
        if signature == "analyse":
            raise AskError(
                "--glossary: not with --json, --n_best or --alignments."
            )
        signature = "with_glossary"
        more["glossary"] = ask_texts.read_glossary(model, options.glossary)
    read = functools.partial(translations_of, count=options.n_best or 1)
    numbers = itertools.count()

    def answer(examples):
        texts = {x: [y[x] for y in examples] for x in model.inputs}
        found = model.rows(signature, texts, read, more)
        return [form(x, next(numbers), options) for x in found]

    return answer


@contextlib.contextmanager
def expecting_answers(model):
    """Turns errors in reading outputs into an `AskError`."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise AskError(
            f"{model.name}: the outputs have another form than those of a "
            f"model exported by tfcopy ({one_line(error)})."
        ) from error


def _to_text(found, number, options):
    return shown(found[0].text)


def _to_lines(found, number, options):
    lines = []
    for x in found:
        parts = [shown(x.text).replace("|||", "&#124;" * 3)]
        if options.n_best:
            parts = [str(number), *parts, f"{x.score:.4f}"]
        if options.alignments:
            parts.append(x.pharaoh)
        lines.append(" ||| ".join(parts))
    return "\n".join(lines)


def _to_json(found, number, options):
    answers = [
        {
            "text": x.text,
            "score": round(x.score, 6),
            "tokens": x.tokens,
            "copied_from": x.copied_from,
            "aligned_to": x.aligned_to,
        }
        for x in found
    ]
    answer = {**answers[0], "source_tokens": found[0].source_tokens}
    if options.n_best:
        answer["n_best"] = answers
    return answer


def _stdin():
    """Returns standard input as a file of its own."""
    if sys.stdin is None:
        raise AskError("standard input is closed.")
    try:
        # On exit Python locks `sys.stdin`, whose lock the thread would hold.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # In tests it is not a file.
        return sys.stdin.buffer


def _batches(stream, batch_size):
    """Yields lists of the lines that have arrived, without their newlines.

    A typed line is answered immediately, and a file in batches.

    Raises:
        AskError: If standard input cannot be read.
    """
    lines = queue.Queue(maxsize=4 * batch_size)

    def read():
        try:
            for line in file_forms.plain(stream, "standard input"):
                lines.put(line.rstrip(b"\r\n"))
            lines.put(None)
        except Exception as error:
            lines.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        batch = [lines.get()]
        while isinstance(batch[-1], bytes) and len(batch) < batch_size:
            try:
                batch.append(lines.get_nowait())
            except queue.Empty:
                break
        end = b"" if isinstance(batch[-1], bytes) else batch.pop()
        if batch:
            yield batch
        if isinstance(end, file_forms.FormError):
            raise AskError(str(end))
        if isinstance(end, Exception):
            raise AskError(f"standard input: {one_line(end)}.")
        if end is None:
            return
