"""Copying by rules: the synthetic task of CopyNet, generated.

A rule such as `a b x c -> d x` rewrites a string of symbols; its variables
are filled with random strings, other ones in each pair. A model has to learn
the rules by heart, and to copy what stands for a variable.
"""

import collections
import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Sequence

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.data.corpora.corpus import (
    CorpusError,
    Split,
    TranslationCorpus,
    fingerprint,
)
from tfcopy.data.corpora.text_lines import read_lines
from tfcopy.data.generated.copy_rules_grammar import (
    RULE_TYPES,
    Rule,
    generate,
    make_rules,
    require,
)

__all__ = ["RULE_TYPES", "Rule", "RulesCorpus", "load", "make_rules"]

_SPLITS = ("train", "test")
_FILES = {"train": "train.tsv", "test": "test.tsv", "rules": "rules.json"}
_HELD_OUT_SHARE = 20  # one training pair in twenty


@dataclasses.dataclass(frozen=True)
class RulesCorpus:
    """The pairs, and the rule that made each pair of the test split.

    Args:
        corpus: The three splits.
        test_types: For each test pair, in order, the type of its rule.
        test_rules: For each test pair, in order, the index of its rule.
    """

    corpus: TranslationCorpus
    test_types: list[str]
    test_rules: list[int]


def load(
    folder: str | os.PathLike,
    *,
    rules_per_type: int = 40,
    instances: int = 200,
    num_symbols: int = 1000,
    longest_filling: int = 15,
    left_symbols: Sequence[int] = (4, 14),
    right_symbols: Sequence[int] = (1, 6),
    no_collision: bool = False,
    count: str = "both",
    seed: int = 19920206,
    num_validation: int | None = None,
) -> RulesCorpus:
    """Generates the corpus in a second.

    `folder` gets `rules.json`, `train.tsv` and `test.tsv`, whose lines are
    source, target, index of the rule and its type. Files of other settings and
    damaged files are written anew.

    The same rules make the pairs of all splits, with different fillings. These
    are drawn independently, as in the authors' code, so short ones may recur
    within a split; but no source of validation or test stands in training.

    Args:
        folder: Folder of the files.
        rules_per_type: Number of rules of each of the five types.
        instances: Even number of pairs of each rule, half of them for
            training, half for testing.
        num_symbols: Number of symbols, `"000"` and so on, at most 1,000.
        longest_filling: The most symbols that a variable stands for; the least
            is one.
        left_symbols: Fewest and most symbols of a rule's left side.
        right_symbols: Fewest and most symbols of its right side.
        no_collision: Whether a filling has no symbol of its rule.
        count: See `make_rules`.
        seed: The same seed gives the same files on every machine.
        num_validation: How many training pairs to hold out for validation,
            evenly over the rules; one in twenty if `None`.

    Raises:
        ValueError: an argument is out of its range.
        OSError: the files cannot be written.
        CorpusError: a file was changed while it was read.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 5.1.
    """
    of_rules = {
        "num_symbols": num_symbols,
        "count": count,
        "left_symbols": list(left_symbols),
        "right_symbols": list(right_symbols),
        "seed": seed,
    }
    rules = make_rules(rules_per_type, **of_rules)
    even = instances > 0 and instances % 2 == 0
    require(even, "instances", "an even number, 2 or more", instances)
    num_train = len(rules) * instances // 2
    if num_validation is None:
        num_validation = max(1, num_train // _HELD_OUT_SHARE)
    require(
        0 < num_validation < num_train,
        "num_validation",
        f"1 to {num_train - 1}",
        num_validation,
    )
    require(
        longest_filling > 0, "longest_filling", "1 or more", longest_filling
    )
    of_pairs = {
        "num_symbols": num_symbols,
        "longest_filling": longest_filling,
        "no_collision": no_collision,
        "seed": seed,
    }
    settings = {"instances": instances, **of_rules, **of_pairs}
    paths = {
        split: os.path.join(folder, name) for split, name in _FILES.items()
    }
    _write(paths["rules"], _description(settings, rules))
    rows = {}
    for split in _SPLITS:
        seen = {source for some in rows.values() for source, *_ in some}
        pairs = generate(
            rules, instances // 2, split=split, seen=seen, **of_pairs
        )
        _write(paths[split], _lines(rules, pairs))
        rows[split] = list(_read(paths[split], rules))
    return _corpus(rules, rows, num_validation)


def _corpus(rules, rows, num_validation):
    """Makes the corpus from rows `(source, target, index of the rule)`."""
    train = rows["train"]
    times = collections.Counter(source for source, *_ in train)

    def key(i):
        source, _, rule = train[i]
        return rule, times[source]  # what recurs is held out last

    by_rule = sorted(range(len(train)), key=key)
    held_out = {
        by_rule[i * len(train) // num_validation] for i in range(num_validation)
    }
    apart = {train[i][0] for i in held_out}
    splits = {
        "train": [row for row in train if row[0] not in apart],
        "validation": [train[i] for i in sorted(held_out)],
        "test": rows["test"],
    }
    corpus = TranslationCorpus(
        name="copy_rules",
        source_language="other",
        target_language="other",
        splits={name: _split(rows) for name, rows in splits.items()},
        tokenized=True,
        generated=True,
    )
    indices = [index for _, _, index in rows["test"]]
    return RulesCorpus(corpus, [rules[i].type for i in indices], indices)


def _split(rows):
    pairs = [(source, target) for source, target, _ in rows]
    return Split(lambda: iter(pairs), fingerprint(pairs), len(pairs))


def _lines(rules, rows) -> bytes:
    return "".join(
        f"{source}\t{target}\t{index}\t{rules[index].type}\n"
        for source, target, index in rows
    ).encode()


def _read(path: str, rules: Sequence[Rule]) -> Iterator[tuple[str, str, int]]:
    for number, line in enumerate(read_lines(path), start=1):
        match line.split("\t"):
            case [source, target, index, kind] if (
                source.strip()
                and target.strip()
                and index.isdecimal()
                and int(index) < len(rules)
                and kind == rules[int(index)].type
            ):
                yield source, target, int(index)
            case _:
                raise CorpusError(
                    f"{path}, line {number}: expected source, target, index "
                    f"of one of {len(rules)} rules and its type, with tabs "
                    f"between them. Received: {line[:80]!r}. The file was "
                    "changed; repeat the command to have it written anew."
                )


def _write(path: str, text: bytes) -> None:
    """Writes a file, unless it already holds this text."""
    with contextlib.suppress(OSError), filesystem.open(path, "rb") as file:
        if file.read() == text:
            return
    write_atomically(path, lambda file: file.write(text))


def _description(settings, rules) -> bytes:
    rules = [dataclasses.asdict(rule) for rule in rules]
    description = {"settings": settings, "rules": rules}
    return (json.dumps(description, indent=1) + "\n").encode()
