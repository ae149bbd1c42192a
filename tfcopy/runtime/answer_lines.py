"""Lines of text in, answers out: shared by the commands that answer texts."""

import dataclasses
import functools
import itertools
import queue
import sys
import threading

from tfcopy import file_formats
from tfcopy.flags import File, PositiveInt
from tfcopy.runtime import ask_texts
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.translation_records import read_translations
from tfcopy.terminal import one_line, to_one_line, write

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
are numbered from 0. There a ||| of a text is written as &#124;&#124;&#124;, as
in Moses. --json writes one object per line:
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
        dictionary: definitions for each line (see below)
        glossary: translations that answers must contain (see below)
        batch_size: lines of a batch
    """

    n_best: PositiveInt | None = None
    json: bool = False
    dictionary: File | None = None
    glossary: File | None = None
    batch_size: PositiveInt = 32


def answer(model, options):
    """Answers the lines of standard input, in order.

    Args:
        model: An `ExportedModel`.
        options: The command's options.

    Raises:
        ModelError: If the model does not support the options, or a line has the
            wrong form.
    """
    texts, numbers = model.inputs, itertools.count(1)
    answer_all = make_answer_function(model, options)
    for lines in _iter_batches(_open_stdin(), model.chunk_size):
        answers = answer_all(
            [ask_texts.parse_line(line, next(numbers), texts) for line in lines]
        )
        write(b"".join(ask_texts.to_line(x) + b"\n" for x in answers))


def make_answer_function(model, options):
    """Returns the function that answers a list of examples.

    An example is a dict of texts, with a `dictionary`, a list of lines. An
    answer is a text without control characters, or a dict with --json.

    Args:
        model: An `ExportedModel`.
        options: The command's options.

    Raises:
        ModelError: If the model does not support the options.
    """
    if not model.translates:
        return ask_texts.make_answer_function(model, options)
    if options.dictionary is not None:
        raise ModelError(f"{model.name}: the model reads no --dictionary.")
    signature, form, extra = "serving_default", _to_text, {}
    if options.json or options.n_best:
        signature, form = "analyse", _to_json if options.json else _to_lines
    if options.glossary is not None:
        if signature == "analyse":
            raise ModelError("--glossary: not with --json or --n_best.")
        signature = "with_glossary"
        extra["glossary"] = ask_texts.read_glossary(model, options.glossary)
    read = functools.partial(read_translations, count=options.n_best or 1)
    numbers = itertools.count()

    def answer(examples):
        texts = {x: [y[x] for y in examples] for x in model.inputs}
        rows = model.rows(signature, texts, read, extra)
        return [form(x, next(numbers), options) for x in rows]

    return answer


def _to_text(translations, number, options):
    return to_one_line(translations[0].text)


def _to_lines(translations, number, options):
    lines = []
    for x in translations:
        text = to_one_line(x.text).replace("|||", "&#124;" * 3)
        lines.append(f"{number} ||| {text} ||| {x.score:.4f}")
    return "\n".join(lines)


# Of the objects of --json.
_FIELDS = ("text", "score", "tokens", "copied_from", "aligned_to")


def _to_json(translations, number, options):
    answers = [
        {k: getattr(x, k) for k in _FIELDS} | {"score": round(x.score, 6)}
        for x in translations
    ]
    answer = {**answers[0], "source_tokens": translations[0].source_tokens}
    if options.n_best:
        answer["n_best"] = answers
    return answer


def _open_stdin():
    """Returns standard input as a file of its own."""
    if sys.stdin is None:
        raise ModelError("standard input is closed.")
    try:
        # On exit Python locks `sys.stdin`, whose lock the thread would hold.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # In tests it is not a file.
        return sys.stdin.buffer


def _iter_batches(stream, batch_size):
    """Yields lists of the lines that have arrived, without their newlines.

    A typed line is answered immediately, and a file in batches.

    Raises:
        ModelError: If standard input cannot be read.
    """
    lines = queue.Queue(maxsize=4 * batch_size)

    def read():
        try:
            for line in file_formats.open_text(stream, "standard input"):
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
        if isinstance(end, file_formats.FormError):
            raise ModelError(str(end))
        if isinstance(end, Exception):
            raise ModelError(f"standard input: {one_line(end)}.")
        if end is None:
            return
