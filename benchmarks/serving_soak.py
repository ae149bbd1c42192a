"""Whether a served model stands any request, and keeps its memory.

    python -m benchmarks.serving_soak savedmodels/europarl_ps
    python -m benchmarks.serving_soak savedmodels/squad_definitions \\
        --signature analyse --requests 20000

Asks an export requests of random bytes, random Unicode, blanks, huge and empty
texts, in batches of mixed sizes, empty ones too, and where a signature takes
them with dictionaries of such lines. Now and then a batch holds a sentence of
the model's own words, whose answer must be what it was alone. Ends with status
1 if the program dies, a request fails, an answer is no UTF-8 or a blank text
has one, one of those sentences is answered otherwise, or the memory of the
process grows. A process keeps the memory of its greatest request, which may
come late, so all requests are sent in --rounds: memory grows if the most of the
last round is more than --growth percent above the most of the first.
"""

import sys
import time

import numpy as np
import tqdm

from benchmarks import flags, serving_texts, timing
from tfcopy.runtime import ask_texts
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.versions import find_version, read_config

# Texts of a request, and how often there are so many.
BATCHES = {0: 0.01, 1: 0.9, 2: 0.04, 3: 0.025, 8: 0.02, 32: 0.005}
NUM_SENTENCES = 50
SIGNATURES = ("serving_default", "with_dictionary", "analyse")


class Asked:
    """An export in this process, and its memory after each request.

    Args:
        folder: Folder of one version.
        signature: Name of the signature.
    """

    def __init__(self, folder, signature):
        self._model = LocalModel(folder)
        if signature not in self._model.signatures:
            raise SystemExit(f"{folder}: no signature {signature}.")
        self._signature = signature
        self._names = sorted(self._model.signatures[signature].inputs)
        self.kib = []

    def ask(self, examples) -> list[bytes]:
        """The answers; an example's dictionary stands where its name would."""
        columns = zip(*examples) if examples else [()] * len(self._names)
        inputs = dict(zip(self._names, columns))
        if "dictionary" in inputs:
            rows = list(map(list, inputs["dictionary"]))
            inputs["dictionary"] = ask_texts.pad_rows(rows)
        outputs = self._model.ask(self._signature, inputs)
        self.kib.append(timing.resident_kib())
        name = next(x for x in ask_texts.ANSWERS if x in outputs)
        return [
            x if isinstance(x, bytes) else b" ".join(x)
            for x in outputs[name].tolist()
        ]


def main(arguments=None):
    parser = flags.make_parser(
        __doc__,
        ("requests", 20_000, "of a round"),
        ("rounds", 2, "of the same requests"),
        ("threads", 1, "of the runtime"),
        ("signature", SIGNATURES, "which to ask"),
        ("seed", 0, "of the requests"),
        ("growth", 2.0, "percent of memory that count as none"),
    )
    parser.add_argument("model", help="exported folder")
    arguments = parser.parse_args(arguments)
    model = find_version(arguments.model)
    timing.limit_threads(arguments.threads)
    asked = Asked(model, arguments.signature)
    start = time.monotonic()
    wrong, total = soak(asked, model, arguments)
    seconds = time.monotonic() - start
    print(
        f"{model}, {arguments.signature}: {arguments.rounds} rounds of "
        f"{arguments.requests:,} requests, {total:,} examples, answered in "
        f"{seconds / 60:.1f} minutes; {wrong:,} answers wrong"
    )
    # Those before were the sentences alone.
    kib = asked.kib[NUM_SENTENCES:]
    growth = report_memory(np.array_split(kib, arguments.rounds))
    return int(wrong > 0 or growth > arguments.growth)


def soak(asked, model, arguments):
    """Returns how many answers were wrong, and how many examples there were."""
    rng = np.random.default_rng(arguments.seed)
    config = read_config(model)
    names = sorted(config.get("texts", ["text"]))
    takes_dictionary = "definition_tokenizer" in config
    if takes_dictionary and arguments.signature != SIGNATURES[0]:
        names = sorted([*names, "dictionary"])

    def example(text, dictionary):
        return tuple(
            dictionary(rng) if name == "dictionary" else text()
            for name in names
        )

    known = serving_texts.examples(
        model, len(names), NUM_SENTENCES, arguments.seed, longest=12
    )
    known = [
        example(iter(texts).__next__, serving_texts.definitions)
        for texts in known
    ]
    alone = {texts: asked.ask([texts])[0] for texts in known}
    # Models of a task say something about blank texts, too.
    blanks = "task" not in config
    wrong = total = 0
    count = arguments.rounds * arguments.requests
    for number in tqdm.trange(count, unit=" requests", disable=None):
        if number % arguments.requests == 0:
            rng = np.random.default_rng(arguments.seed)
        size = rng.choice(list(BATCHES), p=list(BATCHES.values()))
        examples = [
            example(
                lambda: serving_texts.wild(rng), serving_texts.wild_definitions
            )
            for _ in range(size)
        ]
        if size and rng.random() < 0.25:
            examples[rng.integers(size)] = known[rng.integers(len(known))]
        answers = asked.ask(examples)
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


def report_memory(rounds):
    """Prints the memory in KiB of rounds; returns its growth in percent."""
    most = []
    for number, kib in enumerate(rounds, 1):
        means = [part.mean() / 1024 for part in np.array_split(kib, 10)]
        most.append(max(kib) / 1024)
        print(
            f"round {number}: resident memory, MiB, mean of each tenth: "
            + " ".join(f"{mean:.1f}" for mean in means)
            + f"; most {most[-1]:.1f}"
        )
    growth = 100 * (most[-1] / most[0] - 1)
    print(f"the most, from the first round to the last: {growth:+.2f} %")
    return growth


if __name__ == "__main__":
    sys.exit(main())
