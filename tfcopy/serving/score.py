"""Writes the log-probability of each target, given its source.

It is that under a system of a run, in nats: the sum over the words of the
target and its end, each of which may be generated, or copied from any position.

RUN is the folder of logs that a recipe writes, <log_dir>/<run>.
"""

import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tfcopy import terminal
from tfcopy.data.corpora.text_pairs import iter_aligned_lines
from tfcopy.flags import File, Parser, PositiveInt
from tfcopy.serving.run_folder import RunFolder
from tfcopy.terminal import quiet

_EXAMPLES = """\
examples:
  %(prog)s tensorboard_logs/europarl_ps/demo --source a.en --target a.fr
  %(prog)s tensorboard_logs/europarl_ps/demo --system nmt \\
    --source a.en --target a.fr --json

Words that a system can neither generate nor copy count as <unk>. A pair with an
empty side has an empty line, or null. At the end the perplexity per word is
printed."""


@dataclasses.dataclass(kw_only=True)
class Options:
    """Flags of `score`: the run and the pairs.

    Attributes:
        run: folder of a run's logs
        source: file of sources, one per line
        target: file of targets, one per line
        system: system of the run (default: the one that `export` chooses)
        batch_size: pairs in a batch
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
    """Runs the command, and returns its exit status."""
    options = Parser(Options, __doc__, _EXAMPLES).parse(arguments)
    return terminal.run("score", lambda: _score(options))


def _score(options):
    run = RunFolder(options.run)
    pairs = [*iter_aligned_lines([options.source, options.target], once=True)]
    if not pairs:
        raise ValueError(f"{options.source} is empty.")
    # Imported late, so that wrong paths are reported immediately.
    with quiet():
        from tfcopy.serving.servables import storage
        from tfcopy.training.reports import perplexity

    system = run.find(options.system) if options.system else run.choose()[0]
    served = storage.load(run.path(system), {}, "best").served
    total = words = 0
    for score in scores_of(served, pairs, options.batch_size):
        if score is not None:
            total, words = total + score.log_probability, words + score.words
        terminal.write(_line(score, options.json))
    if words:
        per_word = perplexity(-total / words)
        print(f"{words:,} words, perplexity {per_word:.4g}", file=sys.stderr)


class Score(NamedTuple):
    """Score of a target.

    Attributes:
        log_probability: Sum over the words and the end, in nats.
        words: Number of words, with the end.
    """

    log_probability: float
    words: int


def scores_of(
    translator, pairs: Sequence[tuple[str, str]], batch_size: int = 32
) -> Iterator[Score | None]:
    """Yields the score of each pair; `None` where a side has no words.

    Args:
        translator: A `Translator` whose model is a `Seq2Seq`.
        pairs: Sources and targets.
        batch_size: Positive integer.

    Raises:
        ValueError: If the model is an ensemble, or reads definitions.
    """
    # Imported late, as above.
    from tfcopy import tokens
    from tfcopy.data.pairs import encoding, pipeline
    from tfcopy.layers import copying

    model = translator.model
    if getattr(model, "source_inputs", True):
        raise ValueError(
            "Only a model that reads nothing but ids can score targets."
        )
    if not any(source.strip() and target.strip() for source, target in pairs):
        yield from [None] * len(pairs)
        return
    encoded = encoding.encode(
        pairs,
        translator.source_vocabulary,
        translator.target_vocabulary,
        source_tokenizer=translator.source_tokenizer,
        target_tokenizer=translator.target_tokenizer,
        max_length=None,
        truncate=(translator.max_source_length, None),
        append_eos=translator.append_eos,
        entities=translator.entities,
        progress=False,
    )
    scores = [None] * len(pairs)
    for batch in pipeline.evaluation_batches(encoded, batch_size):
        distribution = model({name: batch[name] for name in model.input})
        log_probs = copying.marginal_log_likelihood(
            distribution, batch["target_ids"], batch["source_copy_ids"]
        )
        is_word = batch["target_ids"].numpy() != tokens.PAD
        totals = np.where(is_word, log_probs.numpy(), 0.0).sum(1, np.float64)
        numbers = encoded.indices[batch["indices"].numpy()]
        rows = zip(numbers, totals.tolist(), is_word.sum(1).tolist())
        for number, total, words in rows:
            scores[number] = Score(total, words)
    yield from scores


def _line(score, is_json):
    if is_json:
        return f"{json.dumps(score and score._asdict())}\n".encode()
    return b"\n" if score is None else f"{score.log_probability:.6g}\n".encode()


if __name__ == "__main__":
    sys.exit(main())
