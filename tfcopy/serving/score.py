"""The command `python -m tfcopy.serving.score`: how likely targets are."""

import dataclasses
import json
import sys

from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.flags import File, Parser, PositiveInt
from tfcopy.serving.client_library import commands
from tfcopy.terminal import quiet

_DESCRIPTION = """\
Writes for each pair of a source and a target the log of the probability that a
system of a run gives the target, in nats: the sum over its words and its end,
each of which may be generated, or copied from any place.

RUN is the folder of logs that a recipe writes, <log_dir>/<run>."""

_EXAMPLES = """\
examples:
  %(prog)s tensorboard_logs/europarl_ps/demo --source a.en --target a.fr
  %(prog)s tensorboard_logs/europarl_ps/demo --system nmt \\
    --source a.en --target a.fr --json

Words that a system can neither generate nor copy count as <unk>. A pair one
side of which has no words gets an empty line, or null. At the end the
perplexity of a word is told."""


@dataclasses.dataclass(kw_only=True)
class Options:
    """Which run scores which pairs.

    Attributes:
        run: folder of a run's logs
        source: lines of sources
        target: lines of their targets
        system: system to ask (default: as the command export does)
        batch_size: pairs scored at once
        json: write objects of `log_probability` and `words`
    """

    positional = {"run": "RUN"}

    run: str
    source: File
    target: File
    system: str | None = None
    batch_size: PositiveInt = 32
    json: bool = False


def main(arguments=None):
    """Returns the exit status."""
    options = Parser(Options, _DESCRIPTION, _EXAMPLES).parse(arguments)
    return commands.run("score", lambda: _score(options))


def _score(options):
    # Late: wrong flags are reported at once.
    with quiet():
        from tfcopy.evaluation import translations
        from tfcopy.serving.run_folder import RunFolder
        from tfcopy.serving.servables import storage, target_scores

    run = RunFolder(options.run)
    system = run.find(options.system) if options.system else run.choose()[0]
    sides = [
        list(read_lines(x, once=True)) for x in (options.source, options.target)
    ]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"{options.source} has {len(sides[0]):,} lines, and "
            f"{options.target} {len(sides[1]):,}."
        )
    if not sides[0]:
        raise ValueError(f"{options.source} is empty.")
    served = storage.load(run.path(system), {}, "best").served
    total = words = 0
    pairs = list(zip(*sides))
    for score in target_scores.score(served, pairs, options.batch_size):
        if score is not None:
            total, words = total + score.log_probability, words + score.words
        commands.write(_line(score, options.json))
    if words:
        perplexity = translations.perplexity(-total, words)
        print(f"{words:,} words, perplexity {perplexity:.4g}", file=sys.stderr)


def _line(score, is_json):
    if is_json:
        return f"{json.dumps(score and score._asdict())}\n".encode()
    return b"\n" if score is None else f"{score.log_probability:.6g}\n".encode()


if __name__ == "__main__":
    sys.exit(main())
