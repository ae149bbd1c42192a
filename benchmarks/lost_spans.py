"""The spans that a search which must copy loses, by what did not fit.

    python -m benchmarks.lost_spans RUN/pointer_softmax \\
        --source test.en.gz --reference test.es.gz

Translates the lines of a file with `must_copy`. A source may be cut off, and an
answer may end at the limit; what is lost in neither is counted apart, and how
much of it stands in the answer after all, hidden from docutils by markup that
the model has begun around it. The exit status is 1 if any of it does not.
"""

import argparse
import collections
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import tensorflow as tf

from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.data.text.answer_check import spans_of_both
from tfcopy.evaluation import translations
from tfcopy.serving.servables import storage


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("system", help="folder of a system of a run")
    parser.add_argument("--source", required=True)
    parser.add_argument("--reference", required=True)
    options = parser.parse_args()
    model = storage.load(options.system, {"must_copy": "true"}).served
    sources = list(read_lines(options.source, once=True))
    references = list(read_lines(options.reference, once=True))
    answers = [x.text for x in model.translate_all(sources)]
    counts = collections.Counter()
    for source, answer in zip(sources, answers):
        place = _place(model, source, answer)
        wanted, found = spans_of_both(
            source, answer, model.source_tokenizer.protect
        )
        lost = collections.Counter(wanted) - collections.Counter(found)
        hidden = sum(
            min(count, answer.count(span) - found.count(span))
            for span, count in lost.items()
        )
        counts[f"{place}: spans"] += len(wanted)
        counts[f"{place}: lost"] += lost.total()
        counts[f"{place}: lost, but there to the letter"] += hidden
    scores = {
        name: score(answers, references)["score"]
        for name, score in (
            ("bleu", translations.bleu),
            ("chrf", translations.chrf),
        )
    }
    print(json.dumps(scores | dict(sorted(counts.items())), indent=1))
    hidden = counts["fits: lost, but there to the letter"]
    return int(counts["fits: lost"] > hidden)


def _place(model, source, answer):
    """What of a text did not fit."""
    lengths = [
        len(tokenizer.tokenize(tf.constant([text]))[0])
        for tokenizer, text in (
            (model.source_tokenizer, source),
            (model.target_tokenizer, answer),
        )
    ]
    if lengths[0] > model.max_source_length:
        return "source cut off"
    # EOS, and a start that some tokenizers have.
    if lengths[1] >= model.options.max_length - 2:
        return "answer at the limit"
    return "fits"


if __name__ == "__main__":
    sys.exit(main())
