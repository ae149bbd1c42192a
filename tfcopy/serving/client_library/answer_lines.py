"""Lines of text in, answers out: what the commands that ask a model share.

Shapes: T words of an answer, S source positions; N and M after joining.
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
from tfcopy.serving.client_library import ask_texts
from tfcopy.serving.client_library.commands import write
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import one_line, shown
from tfcopy.tokens import BLANK, START

# Scores of hypotheses that were not found are lower.
_LOWEST_SCORE = -1e8
_WORD = re.compile(r"\w+|[^\w\s]")
# Pieces, or words and signs, that a word or a sign may be cut into.
_PIECES = 2


def size_of(text: str) -> int:
    """The number of words and signs of a text."""
    return len(_WORD.findall(text))


def may_be_cut(text: str, max_words: int) -> bool:
    """Returns whether a model might read only the beginning of a text.

    Args:
        text: The text.
        max_words: The words, or pieces, that the model reads.
    """
    return max(_PIECES * size_of(text), len(text) / _PIECES) > max_words


class Translation(NamedTuple):
    """An answer to one text.

    Attributes:
        text: The answer.
        score: Its log-probability, after the penalties of the search; 0 for
            a blank text.
        tokens: The words of the answer.
        copied_from: For each word the source position it was copied from,
            -1 if it was generated.
        source_tokens: The words of the source, after the cut.
        generate_probs: For each word the probability that it would be
            generated rather than copied; in training for the end, too.
        aligned_to: For each word the source position of highest attention.
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
        """The alignment as `0-0 1-2`: source and target positions."""
        return " ".join(f"{j}-{i}" for i, j in enumerate(self.aligned_to))


def num_words(answer: Translation) -> int:
    """Returns the number of words of the text that were read, but the end."""
    words = answer.source_tokens
    return len(words) - (words[-1:] == [_END])


def is_cut(answer: Translation, max_words: int) -> bool:
    """Returns whether only the beginning of a text may have been read.

    Args:
        answer: An answer of `analyse` to the text.
        max_words: As in `may_be_cut`.
    """
    return num_words(answer) >= max_words


def found(row: Mapping) -> list[int]:
    """The numbers of the hypotheses; the first is always there.

    Args:
        row: `texts` and `scores`, `(N,)`, of one example, by name.
    """
    return [
        i
        for i, (text, score) in enumerate(zip(row["texts"], row["scores"]))
        if i == 0 or (score > _LOWEST_SCORE and (text or score))
    ]


def rows(outputs: Mapping, count: int) -> Iterator[dict]:
    """The outputs for each of so many examples, the first axis of arrays."""
    for i in range(count):
        yield {name: x[i] for name, x in outputs.items()}


def translations_of(
    row: Mapping, count: int | None = None
) -> list[Translation]:
    """The `Translation`s of one text, the best first.

    Args:
        row: The outputs of a signature for it, `text` and `score`; or those of
            `analyse`: `texts` and `scores`, `(N,)`, `tokens` and
            `copied_from`, `(N, T)`, and `source_tokens`, `(S,)`.
            The probabilities to generate are those of `emission_probs`,
            `(N, T + 1)` and -1 after the end, or of `generate_probability`,
            `(N, T)`; with `attention`, `(N, T, S)`, words are aligned.
        count: The most of them; all if `None`.
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
    return answers


def decoded(words) -> list[str]:
    """Words, `bytes` followed by empty ones, as strings."""
    return [word.decode(errors="replace") for word in words if word]


_END = "</s>"


class Shown(NamedTuple):
    """An answer as it is shown, with its source.

    Attributes:
        words: The answer's words.
        source: The source's words, its end among them.
        copied_from: For each word of the answer, the source word it was
            copied from; -1 if any part of it was generated.
        generate: `(N,)`, the probabilities to generate, not copy; the mean of
            a word's pieces.
        attention: `(N, M)`, for each word of the answer the mean of its
            pieces, for each of the source the sum.
        text: The answer.
        score: Its log-probability, after the penalties of the search.
    """

    words: list[str]
    source: list[str]
    copied_from: list[int]
    generate: np.ndarray
    attention: np.ndarray
    text: str = ""
    score: float = 0.0


def join_pieces(answer: Shown, pieces: dict) -> Shown:
    """An answer with whole words, where its tokens are pieces.

    Args:
        answer: Its tokens.
        pieces: Dict of `source` and `target`, whether the tokens of these are
            pieces that begin with a blank, `▁`, where a word begins.
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
    # The word of each position of the source.
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
    """The places where words begin."""
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
    # A start symbol is a part of the first word: it is in no text.
    words = ["".join(part) for part in _parts(tokens, starts)]
    return [x.replace(START, "").replace(BLANK, " ").strip() for x in words]


# For the end of a command's help.
FORMS = """\
--dictionary FILE sends definitions with each line, for models that read them:
FILE has one per line, `headword<TAB>definition`; a headword may have several.
They replace the definitions of these words in the model's own dictionary. A
JSON object may have a "dictionary" of its own, a list of such lines.

--glossary FILE says given translations, for models that were trained with
--protect: FILE has one per line, `phrase<TAB>translation`. Where a phrase
stands in a text, as whole words and in the same case, the answer has the
translation. They come before those of a glossary that was exported.

--n_best N gives lines `number ||| text ||| score`, the best first; input lines
are numbered from 0. --alignments adds ` ||| 0-0 1-2`, pairs of the positions
of a source word and of the word of the answer that was read from it (of highest
attention), as Pharaoh writes them. In such lines a ||| of a text is written as
&#124;&#124;&#124;, as Moses does. --json gives one object per line:
  text, score    the best answer and its log-probability
  tokens         its words
  source_tokens  the words read (long texts are truncated); </s> is the end
  copied_from    each word's position in source_tokens, -1 if not copied
  aligned_to     the position that each word was read from
  n_best         with --n_best: a list of {text, score, tokens, copied_from,
                 aligned_to}
or, for models that do not translate, their whole answer, such as
  text, score, start, end     an answer, its log-probability and its position
  label, probabilities        of contradiction, neutral and entailment
  next_words, next_probabilities, log_probability, perplexity"""


@dataclasses.dataclass(kw_only=True)
class AnswerOptions:
    """Flags of how lines are answered, shared by the commands.

    Attributes:
        n_best: give the N best answers (at most the model's beam size)
        json: write one JSON object per line
        alignments: after each answer, the source word that each of its words
            was read from (see below)
        dictionary: definitions to read with each line (see below)
        glossary: translations that answers must have (see below)
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
        AskError: If the model lacks what the options ask for, or a line has
            another form.
    """
    answer_all, numbers = answering(model, options), itertools.count(1)
    for lines in _batches(_stdin(), model.chunk_size):
        examples = [
            ask_texts.parse(line, next(numbers), model.inputs) for line in lines
        ]
        answers = answer_all(examples)
        write(b"".join(ask_texts.to_line(x) + b"\n" for x in answers))


def answering(model, options):
    """Returns the function of a list of examples to their answers.

    An example is a dict of its texts, and of its `dictionary`, a list; an
    answer is a text without control characters, or with --json a dict.

    Args:
        model: An `ExportedModel`.
        options: The command's options.

    Raises:
        AskError: If the model lacks what the options ask for.
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
                "--glossary gives text: not --json, --n_best, nor --alignments."
            )
        signature = "with_glossary"
        more["glossary"] = ask_texts.read_glossary(model, options.glossary)
    read = functools.partial(translations_of, count=options.n_best or 1)
    numbers = itertools.count()

    def answer(examples):
        texts = {"text": [x["text"] for x in examples]}
        found = model.rows(signature, texts, read, more)
        return [form(x, next(numbers), options) for x in found]

    return answer


@contextlib.contextmanager
def expecting_answers(model):
    """For reading what a model answers, which may be a hostile server's."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise AskError(
            f"{model.name}: it answers otherwise than a model exported by "
            f"tfcopy ({one_line(error)})."
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
    """Standard input, as a file that nobody else reads or closes."""
    if sys.stdin is None:
        raise AskError("standard input is closed.")
    try:
        # As it ends, Python wants the lock of its own file, which a thread
        # holds.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # in tests, where it is no file
        return sys.stdin.buffer


def _batches(stream, batch_size):
    """Lists of the lines that have arrived, at least one, without newlines.

    So a line that is typed is answered at once, and a file in batches.

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
