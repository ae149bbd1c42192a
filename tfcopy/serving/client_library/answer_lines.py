"""Lines of text in, answers out: what the commands that ask a model share."""

import argparse
import contextlib
import itertools
import queue
import sys
import threading

from tfcopy import file_forms
from tfcopy.error_lines import one_line
from tfcopy.serving.client_library import ask_texts, hypotheses
from tfcopy.serving.client_library.commands import positive, write
from tfcopy.serving.client_library.signatures import AskError

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

--n_best K gives lines `number ||| text ||| score`, the best first; input lines
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


def parser(program, description, epilog) -> argparse.ArgumentParser:
    """A parser of the flags that the commands share."""
    parser = argparse.ArgumentParser(
        program,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--n_best",
        type=positive,
        metavar="K",
        help="give the K best answers (at most the model's beam size)",
    )
    parser.add_argument(
        "--json", action="store_true", help="write one JSON object per line"
    )
    parser.add_argument(
        "--alignments",
        action="store_true",
        help="after each answer, the source word that each of its words was "
        "read from (see below)",
    )
    parser.add_argument(
        "--dictionary",
        metavar="FILE",
        help="definitions to read with each line (see below)",
    )
    parser.add_argument(
        "--glossary",
        metavar="FILE",
        help="translations that answers must have (see below)",
    )
    parser.add_argument(
        "--batch_size",
        type=positive,
        default=32,
        metavar="B",
        help="lines of a batch (default: %(default)s)",
    )
    return parser


def answer(model, options):
    """Answers the lines of standard input, in order.

    Args:
        model: A `LocalModel` or a `RemoteModel`.
        options: The command's options.

    Raises:
        AskError: If the model lacks what the options ask for, or a line has
            another form.
    """
    answer_all = answering(model, options)
    for lines in _batches(_stdin(), model.chunk_size):
        with expecting_answers(model):
            answers = list(answer_all(lines))
        write(b"".join(answer + b"\n" for answer in answers))


def answering(model, options):
    """Returns the function of a list of lines (bytes) to answers (bytes).

    Args:
        model: A `LocalModel` or a `RemoteModel`.
        options: The command's options.

    Raises:
        AskError: If the model lacks what the options ask for.
    """
    signatures = model.signatures
    texts, analysed = (
        sorted(signatures[name].inputs.keys() - {"dictionary"})
        if name in signatures
        else None
        for name in ("serving_default", "analyse")
    )
    if not texts or texts != analysed:
        raise AskError(
            f"{model.name}: not a model exported by tfcopy (it has no "
            "signatures 'serving_default' and 'analyse' of the same texts)."
        )
    if "copied_from" in signatures["analyse"].outputs:
        return _translating(model, options)
    return ask_texts.answering(model, texts, options)


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


def _translating(model, options):
    """Returns the function of lines to answers of a model that translates."""
    if options.dictionary is not None:
        raise AskError(f"{model.name}: the model reads no --dictionary.")
    name, form = "serving_default", _to_text
    if options.json or options.n_best or options.alignments:
        name, form = "analyse", _to_json if options.json else _to_lines
    number = itertools.count()
    more = {}
    if options.glossary is not None:
        if name == "analyse":
            raise AskError(
                "--glossary gives text: not --json, --n_best, nor --alignments."
            )
        name = "with_glossary"
        terms = ask_texts.read_glossary(model, options.glossary)
        more = {"glossary": terms}

    def answer(lines):
        rows = {key: [x] * len(lines) for key, x in more.items()}
        outputs = model.ask(name, {"text": lines, **rows})
        for row in hypotheses.rows(outputs, len(lines)):
            yield form(row, next(number), options)

    return answer


def _to_text(row, number, options):
    return ask_texts.to_line(row["text"].decode(errors="replace"))


def _to_lines(row, number, options):
    lines = []
    for x in hypotheses.translations_of(row, options.n_best or 1):
        text = ask_texts.to_line(x.text)
        parts = [text.replace(b"|||", b"&#124;" * 3)]
        if options.n_best:
            parts = [b"%d" % number, *parts, b"%.4f" % x.score]
        if options.alignments:
            parts.append(x.pharaoh.encode())
        lines.append(b" ||| ".join(parts))
    return b"\n".join(lines)


def _to_json(row, number, options):
    found = hypotheses.translations_of(row, options.n_best or 1)
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
    return ask_texts.to_json(answer)


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
