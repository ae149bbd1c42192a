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

# By what they begin with; others are links and footnotes.
KINDS = {"``": "literals", ":": "roles", "|": "substitutions"}


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
    in_sources, in_answers = map(_by_kind, (wanted, found))
    for name, count in in_sources.items():
        print(f"{name}: {count} in sources, {in_answers[name]} in answers")
    marked = [(x, y) for x, y in zip(wanted, found) if x]
    same = sum(x == y for x, y in marked)
    print(f"the very same in {same} of {len(marked)} answers")
    lacking = sum((x - y).total() for x, y in marked)
    print(f"{lacking} lacking")
    return int(lacking > 0)


def _by_kind(counters):
    """How many there are of each kind."""
    counts = collections.Counter()
    for markup, count in sum(counters, collections.Counter()).items():
        kinds = (name for x, name in KINDS.items() if markup.startswith(x))
        counts[next(kinds, "others")] += count
    return counts


if __name__ == "__main__":
    sys.exit(main())
