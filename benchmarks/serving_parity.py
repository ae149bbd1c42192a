"""Whether exports answer in the C program as they do in Python.

    python -m benchmarks.serving_parity savedmodels/europarl_ps ...

Asks each model the same texts through TensorFlow's C runtime, with no Python
in the process, and through `tf.saved_model.load`. The texts are random words
of its vocabulary and words that no vocabulary has. Prints how many answers
are the same bytes, in batches of several sizes too; the exit status is 1 if
one is not.
"""

import argparse
import os
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks import c_program, serving_texts, timing
from tfcopy.serving.client_library.ask_texts import ANSWERS
from tfcopy.serving.client_library.local_model import LocalModel


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("models", nargs="+", help="exported folders")
    timing.add_numbers(
        parser,
        ("texts", 1000, "asked of each model"),
        ("longest", 30, "words of a text at most"),
        ("python_batch_size", 32, "texts that Python is asked at once"),
    )
    parser.add_argument(
        "--batch_sizes",
        type=int,
        nargs="+",
        default=[1, 8, 32, 128],
        help="texts that the C program is asked at once (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the texts")
    parser.add_argument(
        "--tensorflow",
        metavar="FOLDER",
        help="TensorFlow of another release for the C program: its "
        "site-packages/tensorflow, with tensorflow_text beside it",
    )
    arguments = parser.parse_args(arguments)
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        program = c_program.build(folder, arguments.tensorflow)
        for model in arguments.models:
            total += compare(program, LocalModel(model), arguments)
    return int(total > 0)


def compare(program, model, arguments):
    """Prints the outcome of one model; returns how many answers differ."""
    names = sorted(model.signatures["serving_default"].inputs)
    asked = serving_texts.examples(
        model.name,
        len(names),
        arguments.texts,
        arguments.seed,
        arguments.longest,
    )
    size = arguments.python_batch_size
    expected = []
    for start in range(0, len(asked), size):
        columns = zip(*asked[start : start + size])
        outputs = model.ask("serving_default", dict(zip(names, columns)))
        found = next(outputs[name] for name in ANSWERS if name in outputs)
        expected += [
            x if isinstance(x, bytes) else b" ".join(x) for x in found.tolist()
        ]
    differing = 0
    for size in arguments.batch_sizes:
        with c_program.CProgram(
            program, model.name, tensorflow=arguments.tensorflow
        ) as asking:
            answers = []
            for start in range(0, len(asked), size):
                answers += asking.ask(asked[start : start + size])
        pairs = zip(asked, answers, expected, strict=True)
        wrong = [pair for pair in pairs if pair[1] != pair[2]]
        differing += len(wrong)
        print(
            f"{model.name}: {len(asked) - len(wrong)} of {len(asked)} answers "
            f"in batches of {size} are those of Python in batches of "
            f"{arguments.python_batch_size}",
            flush=True,
        )
        for text, answer, other in wrong[:3]:
            print(f"  {text}\n    C       {answer}\n    Python  {other}")
    return differing


if __name__ == "__main__":
    sys.exit(main())
