"""One engine in a process of its own, for `engines.py`: not a benchmark itself.

    python -m benchmarks.engine_side KIND FOLDER OPTION TEXTS

Loads a model and tells how long that took. Each line of standard input is a
size of batches, in which it then answers all texts, two at a time, or 0, for
300 texts one after the other; and, if only some are to be answered, how many.
It prints one line of JSON for each.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

AT_ONCE = 2
BEAMS = 5
# The recipe's limit of answers, which ours have.
MOST_WORDS = 60


def open_export(folder, engine):
    """Our export; TensorFlow's or LiteRT's search."""
    os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
    from tfcopy.runtime.local_model import LocalModel

    model = LocalModel(folder, at_once=AT_ONCE, engine=engine)

    def answer(texts, size):
        model.batch_size = size
        found = model.ask("serving_default", {"text": texts})["text"]
        return [x.decode() for x in found]

    return answer


def open_ctranslate2(folder, option):
    """CTranslate2's model of the same weights: "int8", or "int8 PATIENCE"."""
    import ctranslate2

    precision, _, patience = option.partition(" ")
    model = ctranslate2.Translator(
        folder,
        device="cpu",
        compute_type=precision,
        inter_threads=AT_ONCE,
        intra_threads=1,
    )

    def answer(texts, size):
        found = model.translate_batch(
            [[*text.split(), "</s>"] for text in texts],
            beam_size=BEAMS,
            max_batch_size=size,
            batch_type="examples",
            max_decoding_length=MOST_WORDS,
            length_penalty=1.0,
            patience=float(patience or 1),
        )
        return [" ".join(x.hypotheses[0]) for x in found]

    return answer


KINDS = {"export": open_export, "ctranslate2": open_ctranslate2}


def main():
    kind, folder, option, path = sys.argv[1:]
    texts = Path(path).read_text(encoding="utf-8").splitlines()
    start = time.perf_counter()
    answer = KINDS[kind](folder, option)
    answer(texts[:1], 1)
    tell({"seconds": time.perf_counter() - start})
    for line in sys.stdin:
        size, *most = map(int, line.split())
        some = texts[: most[0] if most else None]
        start = time.perf_counter()
        if size:
            found = {"answers": answer(some, size)}
        else:
            found = {"latencies": [timed(answer, text) for text in some[:300]]}
        tell({"seconds": time.perf_counter() - start, **found})


def timed(answer, text):
    """Seconds of one text."""
    start = time.perf_counter()
    answer([text], 1)
    return time.perf_counter() - start


def tell(found):
    """Prints a line of JSON, with the peak of the process's memory."""
    # Not `ru_maxrss`, which begins with that of the process that forked.
    status = Path("/proc/self/status").read_text()
    kib = int(re.search(r"VmHWM:\s+(\d+)", status)[1])
    print(json.dumps({**found, "mib": kib / 1024}), flush=True)


if __name__ == "__main__":
    main()
