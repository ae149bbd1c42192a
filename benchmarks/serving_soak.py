"""Whether a served model stands any request, and keeps its memory.

    python -m benchmarks.serving_soak savedmodels/europarl_ps

Asks an export, through the C program, requests of random bytes, random
Unicode, blanks, huge and empty texts, in batches of mixed sizes, empty ones
too. Now and then a batch holds a sentence of the model's own words, whose
answer must be what it was alone. Ends with status 1 if the program dies, a
request fails, an answer is no UTF-8 or a blank text has one, one of those
sentences is answered otherwise, or the memory of the process grows: if the
mean of the last tenth of the requests is more than --growth percent above
that of the third tenth.
"""

import argparse
import os
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tqdm

from benchmarks import c_program, serving_texts, timing
from tfcopy.serving.client_library.local_model import find_version, read_config

# Texts of a request, and how often there are so many.
BATCHES = {0: 0.01, 1: 0.9, 2: 0.04, 3: 0.025, 8: 0.02, 32: 0.005}
NUM_SENTENCES = 50


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="exported folder")
    timing.add_numbers(
        parser,
        ("requests", 100_000, "to send"),
        ("threads", 1, "of the runtime"),
    )
    parser.add_argument("--seed", type=int, default=0, help="of the requests")
    parser.add_argument(
        "--growth",
        type=float,
        default=2.0,
        help="percent of memory that count as none (default: %(default)s)",
    )
    arguments = parser.parse_args(arguments)
    model = find_version(arguments.model)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        with c_program.CProgram(
            c_program.build(folder), model, f"--threads={arguments.threads}"
        ) as asking:
            wrong, total = soak(asking, model, arguments)
            # Those before were the sentences alone.
            timings = asking.end()[NUM_SENTENCES:]
    seconds = time.monotonic() - start
    print(
        f"{model}: {arguments.requests:,} requests of {total:,} examples "
        f"answered in {seconds / 60:.1f} minutes; {wrong:,} answers wrong"
    )
    growth = report_memory([timing.kib for timing in timings])
    return int(wrong > 0 or growth > arguments.growth)


def soak(asking, model, arguments):
    """Returns how many answers were wrong, and how many examples there were."""
    rng = np.random.default_rng(arguments.seed)
    config = read_config(model)
    count = len(config.get("texts", ["text"]))
    known = serving_texts.examples(
        model, count, NUM_SENTENCES, arguments.seed, longest=12
    )
    alone = {texts: asking.ask([texts])[0] for texts in known}
    # Models of a task say something about blank texts, too.
    blanks = "task" not in config
    wrong = total = 0
    bar = tqdm.tqdm(range(arguments.requests), unit=" requests", disable=None)
    for _ in bar:
        size = rng.choice(list(BATCHES), p=list(BATCHES.values()))
        examples = [
            tuple(serving_texts.wild(rng) for _ in range(count))
            for _ in range(size)
        ]
        if size and rng.random() < 0.25:
            examples[rng.integers(size)] = known[rng.integers(len(known))]
        answers = asking.ask(examples)
        total += len(examples)
        wrong += abs(len(examples) - len(answers))
        for texts, answer in zip(examples, answers):
            if not is_right(texts, answer, alone, blanks):
                wrong += 1
                told = [text[:200] for text in texts]
                print(f"{told} was answered {answer[:200]!r}")
    return wrong, total


def is_right(texts, answer, alone, blanks):
    """Whether an answer is what it must be, as far as can be known."""
    if texts in alone and answer != alone[texts]:
        return False
    try:
        answer.decode()
    except UnicodeDecodeError:
        return False
    return not (blanks and answer) or any(text.strip() for text in texts)


def report_memory(kib):
    """Prints what memory became; returns its growth in percent."""
    means = [part.mean() / 1024 for part in np.array_split(kib, 10)]
    growth = 100 * (means[-1] / means[2] - 1)
    print(
        "resident memory, MiB, mean of each tenth of the requests: "
        + " ".join(f"{mean:.1f}" for mean in means)
        + f"; most {max(kib) / 1024:.1f}; from the third tenth to the last "
        f"{growth:+.2f} %"
    )
    return growth


if __name__ == "__main__":
    sys.exit(main())
