"""Seconds and memory of reading a large translation memory.

    python -m benchmarks.translation_memory --units 1000000

Writes TMX of pairs as `benchmarks.prepare_scale` draws them, then reads it in a
process of its own: once to check it and to hold pairs out, as at the start of
a training, and once more from end to end.
"""

import os
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

from benchmarks import flags, prepare_scale
from tfcopy.terminal import tolerant_output

_READ = """
import resource, sys, time
from tfcopy.data.corpora import text_pairs
start = time.process_time()
corpus = text_pairs.load(
    (sys.argv[1],), source_language="en", target_language="fr"
)
checked = time.process_time()
count = sum(1 for _ in corpus.train)
read = time.process_time()
kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"seconds of a processor: {checked - start:.0f} to check, "
      f"{read - checked:.0f} to read {count:,} pairs; "
      f"at most {kib / 2**20:.2f} GiB")
"""


def main():
    options = flags.parse(__doc__, ("units", 1_000_000, "pairs of texts"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "memory.tmx")
        write(path, prepare_scale.write_corpus(folder, options.units))
        print(f"{options.units:,} units, {os.path.getsize(path) / 1e6:,.0f} MB")
        subprocess.run([sys.executable, "-c", _READ, path], check=True)


def write(path, files):
    """Writes the lines of two files as one TMX."""
    unit = (
        '<tu><tuv xml:lang="en"><seg>{}</seg></tuv>'
        '<tuv xml:lang="fr"><seg>{}</seg></tuv></tu>\n'
    )
    with open(path, "w") as memory, open(files[0]) as a, open(files[1]) as b:
        memory.write('<tmx version="1.4"><header srclang="en"/><body>\n')
        for pair in zip(a, b):
            memory.write(unit.format(*(escape(x.rstrip("\n")) for x in pair)))
        memory.write("</body></tmx>\n")


if __name__ == "__main__":
    with tolerant_output():
        sys.exit(main())
