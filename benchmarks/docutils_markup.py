"""Counts the markup that docutils finds in sources and in their translations.

    python -m benchmarks.docutils_markup savedmodels/pydocs_ps test.en.gz

Translates each line of a file, and prints how many literals, roles and others
docutils finds in the sources, and in the answers, and in how many answers they
are those of the source. The exit status is 1 if an answer lacks one.
"""

import argparse
import collections
import gzip
import sys

import tfcopy
from tfcopy.data.text.rst_markup import markup_of

# By the sign that they begin with.
KINDS = {"`": "literals", ":": "roles", "|": "substitutions"}


def main():
    parser = argparse.ArgumentParser(
        "python -m benchmarks.docutils_markup",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="exported folder")
    parser.add_argument("file", help="texts, one on each line; may be gzipped")
    options = parser.parse_args()
    opened = gzip.open if options.file.endswith(".gz") else open
    with opened(options.file, "rt", encoding="utf-8") as file:
        sources = file.read().splitlines()
    with tfcopy.load(options.model) as model:
        answers = [x.text for x in model.translate(sources)]
    wanted, found = (
        [collections.Counter(markup_of(x) or ()) for x in texts]
        for texts in (sources, answers)
    )
    for name, of_kind in _kinds(wanted):
        in_sources, in_answers = (
            sum(count for x in texts for y, count in x.items() if of_kind(y))
            for texts in (wanted, found)
        )
        print(f"{name}: {in_sources} in sources, {in_answers} in answers")
    marked = [(x, y) for x, y in zip(wanted, found) if x]
    same = sum(x == y for x, y in marked)
    print(f"the very same in {same} of {len(marked)} answers")
    lacking = sum((x - y).total() for x, y in marked)
    print(f"{lacking} lacking")
    return int(lacking > 0)


def _kinds(counters):
    """Pairs of a kind's name and a function that tells it."""
    others = {x[0] for counter in counters for x in counter} - {*KINDS}
    for sign, name in KINDS.items():
        yield name, lambda x, sign=sign: x[0] == sign
    yield "others", lambda x: x[0] in others


if __name__ == "__main__":
    sys.exit(main())
