"""Scores answers to the lines of a file against references.

Systems are compared by a paired bootstrap: p is the probability of a difference
at least as large if a system were no better or worse than the first.

SYSTEM is an exported model, or a file of answers, one per line. --source and
--reference are files of lines, plain or compressed. An export with programs of
int8 is evaluated without them, too, if TensorFlow is installed, unless --engine
is given.
"""

import dataclasses
import json
import os
import sys
from importlib.util import find_spec
from typing import Literal

from tfcopy import filesystem, terminal
from tfcopy.data.corpora.text_pairs import iter_aligned_lines, read_lines
from tfcopy.data.text.blanks import is_word
from tfcopy.flags import File, Parser, PositiveInt, flag
from tfcopy.runtime.loading import LoadingOptions, load
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.versions import find_version, read_config
from tfcopy.terminal import align_rows, one_line, printable

_EXAMPLES = """\
examples:
  %(prog)s savedmodels/europarl_ps --source test.en --reference test.fr
  %(prog)s savedmodels/nmt savedmodels/europarl_ps --source test.en \\
    --reference test.fr
  %(prog)s theirs.fr savedmodels/europarl_ps --source test.en \\
    --reference a.fr b.fr --metrics bleu ter --json

Copied words are in the source but not in the vocabulary of the target, so that
only copying can produce them. Precision is the share of correct ones among the
copied words of the answers; recall is the share of copied words in the (first)
reference that the answers contain. The vocabulary is the first exported
model's, or --vocabulary; a model of subwords has none, as it can spell any
word. Changed answers differ from the first system's, and are better or worse by
their chrF."""

_NAMES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}


@dataclasses.dataclass(kw_only=True)
class Options(LoadingOptions):
    """Flags of `evaluate`: models, texts, metrics.

    Attributes:
        systems: exported folder, or file of answers
        source: file of source texts, one per line
        reference: files of references, one per line
        tokenize: sacrebleu's tokenisation (none for text that is already
            tokenised; zh, ja-mecab, char ...); by default that of the target
            language of the first exported model, else 13a
        vocabulary: file of words that a model can generate, one per line
        batch_size: texts in a batch
        samples: bootstrap samples
        json: write one JSON object
    """

    positional = {"systems": "SYSTEM"}

    systems: list[str]
    source: File
    reference: list[File]
    metrics: list[Literal[*_NAMES, "rouge"]] = flag(
        ["bleu", "chrf", "ter"], "of bleu, chrf, ter, rouge"
    )
    tokenize: str | None = None
    vocabulary: File | None = None
    batch_size: PositiveInt = 32
    samples: PositiveInt = 1_000
    json: bool = False

    def __post_init__(self):
        if self.tokenize is None:
            return
        # Imported late, so that --help is fast.
        from sacrebleu import BLEU

        if self.tokenize not in BLEU.TOKENIZERS:
            raise ValueError(
                f"--tokenize: {self.tokenize!r} is none of "
                f"{', '.join(BLEU.TOKENIZERS)}"
            )
        try:
            BLEU(tokenize=self.tokenize)
        except Exception as error:  # of missing packages
            raise ValueError(f"--tokenize: {one_line(error)}") from None


def main(arguments=None):
    """Runs the command, and returns its exit status."""
    options = Parser(Options, __doc__, _EXAMPLES).parse(arguments)
    return terminal.run("evaluate", lambda: _evaluate(options))


def _evaluate(options):
    paths = [options.source, *options.reference]
    lines = [*iter_aligned_lines(paths, once=True)]
    if not lines:
        raise ModelError(f"{options.source} is empty.")
    sources, *references = map(list, zip(*lines))
    if len(set(options.systems)) < len(options.systems):
        raise ModelError("A system is named twice.")
    answers = {}
    for path in options.systems:
        answers |= _answers(path, sources, options)
    scores = _scores(answers, references, options)
    _warn(scores, len(sources))
    words = _vocabulary(options)
    if words is not None:
        _add_copied_words(scores, sources, answers, references[0], words)
    if options.json:
        text = json.dumps(scores, ensure_ascii=False) + "\n"
    else:
        text = _table(scores)
        folders = filter(filesystem.isdir, options.systems)
        text += "".join(map(_engines_line, folders))
    # File names may have bytes that are not UTF-8.
    terminal.write(text.encode("utf-8", "backslashreplace"))


def _answers(path, sources, options):
    """Returns the answers to the sources by system."""
    if not filesystem.isdir(path):
        lines = [*read_lines(path, once=True)]
        if len(lines) != len(sources):
            raise ModelError(
                f"{path} has {len(lines):,} answers to {len(sources):,} texts "
                f"of {options.source}."
            )
        return {path: lines}
    answers = {}
    for name, engine in _engines(path, options).items():
        given = {**options.engine_options, "engine": engine}
        with load(path, batch_size=options.batch_size, **given) as model:
            if not model.translates:
                raise ModelError(f"{path}: the model does not translate.")
            answers[name] = [x.text for x in model.translate(sources)]
    return answers


def _engines(path, options):
    """Returns the engines to compare, by names of systems."""
    is_int8 = _config(path).get("litert", {}).get("precision") == "int8"
    both = ("ai_edge_litert", "tensorflow")
    if options.engine or not is_int8 or not all(map(find_spec, both)):
        return {path: options.engine}
    return {path + _IN_FLOAT: "tensorflow", path + _IN_INT8: "litert"}


def _config(path):
    """Reads what an export stores about itself."""
    return read_config(find_version(path))


def _engines_line(path):
    engines = _config(path).get("engines", "TensorFlow.")
    return f"{printable(path)}, engines: {printable(engines)}\n"


def _tokenize(systems):
    """Returns the tokenisation for the first exported model's language."""
    # Imported late, so that --help is fast.
    from tfcopy.data.text.languages import bleu_tokenize

    known = (_config(x) for x in systems if filesystem.isdir(x))
    return bleu_tokenize(next(known, {}).get("target_language") or "")


def _scores(answers, references, options):
    """Returns the scores of each system by name."""
    from tfcopy.evaluation import translations

    metrics = [x for x in options.metrics if x in _NAMES]
    tokenize = options.tokenize or _tokenize(options.systems)
    scores = translations.compare(
        answers, references, metrics, tokenize, options.samples
    )
    first, *others = answers
    for name in others:
        scores[name]["changed"] = translations.count_changed_answers(
            answers[first], answers[name], references
        )
    if "rouge" in options.metrics:
        # Imported late: it is slow.
        from tfcopy.evaluation import summaries

        for name, texts in answers.items():
            found = summaries.rouge(texts, references[0])
            scores[name] |= {
                metric: {"score": score} for metric, score in found.items()
            }
    return scores


def _warn(scores, size):
    """Warns if int8 has made more than one per cent of the answers worse."""
    name = next(iter(scores)).removesuffix(_IN_FLOAT) + _IN_INT8
    changed = scores.get(name, {}).get("changed", {"worse": 0})
    if changed["worse"] > size / 100:
        print(
            f"evaluate: {printable(name)}: {changed['worse']:,} of {size:,} "
            f"answers are worse than TensorFlow's, {changed['better']:,} "
            "better. Exports with --set litert=float32 change none.",
            file=sys.stderr,
        )


# Suffixes of the names of the two engines of an export.
_IN_FLOAT, _IN_INT8 = ", TensorFlow", ", LiteRT int8"


def _vocabulary(options):
    """Returns the words that a model can generate, or `None`."""
    path = options.vocabulary
    for folder in filter(filesystem.isdir, options.systems):
        path = path or os.path.join(
            find_version(folder), "assets", "target_vocabulary.txt"
        )
    if path is None or not filesystem.exists(path) and not options.vocabulary:
        return None
    words = frozenset(read_lines(path, once=True))
    for word in words:
        if not is_word(word):
            raise ModelError(
                f"{path}: expected one word per line. Received: {word[:80]!r}."
            )
    return words


def _add_copied_words(scores, sources, answers, reference, vocabulary):
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    from tfcopy.evaluation.translations import score_copied_words

    cut = Tokenizer13a()

    def words(texts):
        return [cut(text).split() for text in texts]

    sources, reference = words(sources), words(reference)
    for name, texts in answers.items():
        found = score_copied_words(sources, words(texts), reference, vocabulary)
        scores[name]["copied_words"] = found


def _table(scores):
    """Returns the scores as a table."""
    rows = [["", *(_NAMES.get(x, x) for x in _metrics(scores)), *_COUNTS]]
    for name, own in scores.items():
        row = [_cell(own[metric]) for metric in _metrics(scores)]
        row += [_number(own.get(x, {}).get(y)) for x, y in _COUNTS.values()]
        rows.append([printable(name), *row])
    filled = [i for i in range(len(rows[0])) if any(x[i] for x in rows[1:])]
    rows = [[row[i] for i in filled] for row in rows]
    lines = [line.rstrip() for line in align_rows(rows)]
    first, *others = scores
    notes = [
        f"{_NAMES[metric]}: {score['signature']}"
        for metric, score in scores[first].items()
        if "signature" in score
    ]
    if notes:
        lines += ["", "In brackets intervals of 95 %."]
        if others:
            lines[-1] += f" p: compared with {printable(first)}."
    return "\n".join([*lines, *notes]) + "\n"


# Further columns, and their keys in the scores.
_COUNTS = {
    "copied words: precision": ("copied_words", "precision"),
    "recall": ("copied_words", "recall"),
    "in references": ("copied_words", "number"),
    "changed answers": ("changed", "answers"),
    "better": ("changed", "better"),
    "worse": ("changed", "worse"),
}


def _metrics(scores):
    own = next(iter(scores.values()))
    parts = {part for part, _ in _COUNTS.values()}
    return [name for name in own if name not in parts]


def _cell(score):
    text = f"{score['score']:.2f}"
    if "interval" in score:
        low, high = score["interval"]
        text += f" ({low:.2f} to {high:.2f})"
    if score.get("p") is not None:
        text += f" p={score['p']:.3f}"
    return text


def _number(value):
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


if __name__ == "__main__":
    terminal.start(main)
