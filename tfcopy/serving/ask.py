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
from tfcopy.serving import ask_texts
from tfcopy.serving.ask_texts import AskError

_DESCRIPTION = """\
Reads lines of text from standard input and answers each with one line, in
order. A model that translates gives an empty line for an empty one, and the
words of a line that it has never seen exactly as they were typed, if it copies
them. A model that predicts words gives those that may come next. A model of
several texts reads one JSON object a line, with the names of the texts, and
gives an answer or a label.

MODEL is what a recipe exports: a folder of numbered versions, the highest of
which is asked, or the folder of one version."""

_EXAMPLES = """\
examples:
  echo "Mr. Łukasz has the floor." | %(prog)s savedmodels/europarl_ps
  %(prog)s savedmodels/europarl_ps < input.en > output.fr
  %(prog)s savedmodels/europarl_ps --n_best 3 < input.en
  %(prog)s savedmodels/europarl_ps --json < input.en | head -1
  echo '{"context": "The wug sat down.", "question": "Who sat?"}' |
    %(prog)s savedmodels/squad_definitions --dictionary my.tsv
  echo '{"premise": "A wug sat.", "hypothesis": "A bird sat."}' |
    %(prog)s savedmodels/snli_definitions --json
  echo "The wug sat" | %(prog)s savedmodels/lm1b_definitions

--dictionary FILE sends definitions with each line, for models that read them:
FILE has one a line, `headword<TAB>definition`, and a headword may have several.
They take the place of what the model's own dictionary says of these words. An
object on a line may have a "dictionary" of its own, a list of such lines.

--n_best K gives lines `number ||| text ||| score`, the best first, where the
first line of the input has the number 0. --json gives one object a line:
  text, score    the best answer and its log-probability
  tokens         its words
  source_tokens  the words that were read (long texts are cut); </s> is the end
  copied_from    for each word its place in source_tokens, -1 if not copied
  n_best         with --n_best: a list of {text, score, tokens, copied_from}
or, of models that do not translate, all that they answer, such as
  text, score, start, end     an answer, its log-probability and its place
  label, probabilities        of contradiction, neutral and entailment
  next_words, next_probabilities, log_probability, perplexity"""


def main(arguments=None):
    """Returns the exit status."""
    options = _parse(arguments)
    try:
        answer = _load(find_version(options.model, options.version), options)
        for lines in _batches(sys.stdin.buffer, options.batch_size):
            for text in answer(lines):
                sys.stdout.buffer.write(text + b"\n")
            sys.stdout.buffer.flush()
    except AskError as error:
        print(f"ask: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever reads has seen enough; keep Python from flushing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


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
        "--dictionary",
        metavar="FILE",
        help="definitions to read with each line (see below)",
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
        raise AskError(f"{folder}: no such folder.")
    if _is_saved_model(folder):
        if version is not None:
            raise AskError(
                f"{folder} is a version itself: leave --version out."
            )
        return folder
    names = [
        name
        for name in os.listdir(folder)
        if name.isdecimal() and _is_saved_model(os.path.join(folder, name))
    ]
    if not names:
        raise AskError(
            f"{folder}: no exported model in it. Expected folders named "
            "1, 2, ... with a saved_model.pb each."
        )
    name = str(version) if version is not None else max(names, key=int)
    if name not in names:
        known = ", ".join(sorted(names, key=int))
        raise AskError(f"{folder}: no version {version}. There is: {known}.")
    return os.path.join(folder, name)


def _is_saved_model(folder):
    return os.path.isfile(os.path.join(folder, "saved_model.pb"))


def _load(folder, options):
    """Returns the function of a list of lines (bytes) to answers (bytes)."""
    model = _load_model(folder)
    inputs, outputs = {}, {}
    for name, function in model.signatures.items():
        specs = function.structured_input_signature[1]
        inputs[name] = [key for key in specs if key != "dictionary"]
        outputs[name] = function.structured_outputs
    texts = inputs.get("serving_default", [])
    if not texts or texts != inputs.get("analyse"):
        raise AskError(
            f"{folder}: not a model exported by tfcopy (it has no signatures "
            "'serving_default' and 'analyse' of the same texts)."
        )
    if "copied_from" in outputs["analyse"]:
        return _translating(folder, model, options)
    return ask_texts.answering(folder, model, texts, options)


def _load_model(folder):
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
                specs = ask.structured_input_signature[1]
                if all(spec.dtype == tf.string for spec in specs.values()):
                    ask(
                        **{
                            name: tf.fill([1] * spec.shape.rank, "a")
                            for name, spec in specs.items()
                        }
                    )
            return model
    except Exception as error:  # whatever a damaged file leads to
        reason = str(error).strip().split("\n")[0]
        raise AskError(f"{folder}: cannot be loaded ({reason}).") from None


def _translating(folder, model, options):
    """Returns the function of lines to answers of a model that translates."""
    import tensorflow as tf

    if options.dictionary is not None:
        raise AskError(f"{folder}: the model reads no --dictionary.")
    signatures = model.signatures
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
