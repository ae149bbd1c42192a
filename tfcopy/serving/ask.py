"""Asks a SavedModel: a line of text in, a line of text out.

Needs TensorFlow alone, none of the Python code that trained the model;
TensorFlow Text as well if the model cuts words into pieces.
"""

import argparse
import itertools
import json
import logging
import os
import queue
import sys
import threading

from tfcopy.quiet import quiet

_DESCRIPTION = """\
Reads lines of text from standard input and answers each with one line, in
order. An empty line gets an empty line. The words of a line that the model has
never seen come back exactly as they were typed, if it copies them.

MODEL is what a recipe exports: a folder of numbered versions, the highest of
which is asked, or the folder of one version."""

_EXAMPLES = """\
examples:
  echo "Mr. Łukasz has the floor." | %(prog)s savedmodels/europarl_ps
  %(prog)s savedmodels/europarl_ps < input.en > output.fr
  %(prog)s savedmodels/europarl_ps --n_best 3 < input.en
  %(prog)s savedmodels/europarl_ps --json < input.en | head -1

--n_best K gives lines `number ||| text ||| score`, the best first, where the
first line of the input has the number 0. --json gives one object a line:
  text, score    the best answer and its log-probability
  tokens         its words
  source_tokens  the words that were read (long texts are cut); </s> is the end
  copied_from    for each word its place in source_tokens, -1 if not copied
  n_best         with --n_best: a list of {text, score, tokens, copied_from}"""


def main(arguments=None):
    """Returns the exit status."""
    options = _parse(arguments)
    try:
        answer = _load(find_version(options.model, options.version), options)
        for lines in _batches(sys.stdin.buffer, options.batch_size):
            for text in answer(lines):
                sys.stdout.buffer.write(text + b"\n")
            sys.stdout.buffer.flush()
    except _Error as error:
        print(f"ask: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever reads has seen enough; keep Python from flushing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


class _Error(Exception):
    """What the user must know, in one line."""


def _parse(arguments):
    parser = argparse.ArgumentParser(
        "python -m tfcopy.serving.ask",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="exported folder")
    parser.add_argument(
        "--version",
        type=int,
        metavar="V",
        help="which version to ask (default: the highest)",
    )
    parser.add_argument(
        "--n_best",
        type=_positive,
        metavar="K",
        help="give the K best answers (no more than the model's beams)",
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line"
    )
    parser.add_argument(
        "--batch_size",
        type=_positive,
        default=32,
        metavar="B",
        help="most lines answered at once (default: %(default)s)",
    )
    return parser.parse_args(arguments)


def _positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def find_version(folder, version=None):
    """The folder of one version of a model."""
    if not os.path.isdir(folder):
        raise _Error(f"{folder}: no such folder.")
    if _is_saved_model(folder):
        if version is not None:
            raise _Error(f"{folder} is a version itself: leave --version out.")
        return folder
    names = [
        name
        for name in os.listdir(folder)
        if name.isdecimal() and _is_saved_model(os.path.join(folder, name))
    ]
    if not names:
        raise _Error(
            f"{folder}: no exported model in it. Expected folders named "
            "1, 2, ... with a saved_model.pb each."
        )
    name = str(version) if version is not None else max(names, key=int)
    if name not in names:
        known = ", ".join(sorted(names, key=int))
        raise _Error(f"{folder}: no version {version}. There is: {known}.")
    return os.path.join(folder, name)


def _is_saved_model(folder):
    return os.path.isfile(os.path.join(folder, "saved_model.pb"))


def _load(folder, options):
    """Returns the function of a list of lines (bytes) to answers (bytes)."""
    try:
        with quiet():
            # Late: --help and errors need not wait for it.
            import tensorflow as tf

            logging.getLogger("absl").setLevel(logging.ERROR)
            with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
                if b"SentencepieceOp" in file.read():
                    import tensorflow_text  # noqa: F401 its operations
            model = tf.saved_model.load(folder)
            # The first question would be slow, and have its own messages.
            for ask in model.signatures.values():
                if "text" in ask.structured_input_signature[1]:
                    ask(text=tf.constant(["a"]))
    except Exception as error:  # whatever a damaged file leads to
        reason = str(error).strip().split("\n")[0]
        raise _Error(f"{folder}: cannot be loaded ({reason}).") from None
    signatures = model.signatures
    for name in ("serving_default", "analyse"):
        inputs = {}
        if name in signatures:
            inputs = signatures[name].structured_input_signature[1]
        if set(inputs) != {"text"}:
            raise _Error(
                f"{folder}: not a model exported by tfcopy (it has no "
                f"signature {name!r} with the one input 'text')."
            )
    if options.json or options.n_best:
        ask = signatures["analyse"]
        form = _to_json if options.json else _to_lines
    else:
        ask, form = signatures["serving_default"], _to_text
    number = itertools.count()

    def answer(lines, model=model):  # variables live as long as the model
        outputs = ask(text=tf.constant(lines, tf.string))
        outputs = {name: x.numpy() for name, x in outputs.items()}
        for i in range(len(lines)):
            row = {name: x[i] for name, x in outputs.items()}
            yield form(row, next(number), options.n_best)

    return answer


def _to_text(row, number, n_best):
    return row["text"]


def _to_lines(row, number, n_best):
    return b"\n".join(
        b"%d ||| %s ||| %.4f" % (number, text, score)
        for text, score, _, _ in _hypotheses(row, n_best)
    )


def _to_json(row, number, n_best):
    found = [
        {
            "text": text.decode(),
            "score": round(float(score), 6),
            "tokens": [word.decode() for word in words],
            "copied_from": copied_from.tolist(),
        }
        for text, score, words, copied_from in _hypotheses(row, n_best or 1)
    ]
    source = [word.decode() for word in row["source_tokens"] if word]
    answer = {**found[0], "source_tokens": source}
    if n_best:
        answer["n_best"] = found
    return json.dumps(answer, ensure_ascii=False).encode()


def _hypotheses(row, count):
    """`(text, score, words, copied_from)` of those there are."""
    zipped = zip(row["texts"], row["scores"], row["tokens"], row["copied_from"])
    for i, (text, score, words, copied_from) in enumerate(zipped):
        is_there = score > -1e8 and (text or score or i == 0)
        if i < count and is_there:
            words = [word for word in words if word]
            yield text, score, words, copied_from[: len(words)]


def _batches(stream, batch_size):
    """Lists of the lines that have arrived, at least one, without newlines.

    So a line that is typed is answered at once, and a file in batches.
    """
    lines = queue.Queue(maxsize=4 * batch_size)

    def read():
        for line in stream:
            lines.put(line.rstrip(b"\r\n"))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        batch = [lines.get()]
        while batch[-1] is not None and len(batch) < batch_size:
            try:
                batch.append(lines.get_nowait())
            except queue.Empty:
                break
        if batch[-1] is None:
            if batch[:-1]:
                yield batch[:-1]
            return
        yield batch


if __name__ == "__main__":
    sys.exit(main())
