"""Copying by rules: the synthetic task of CopyNet, generated.

A rule such as `a b x c -> d x` rewrites a string of symbols; its variables are
filled with random strings, other ones in each pair. A model must learn the
rules by heart, and copy the fillings of variables.
"""

import collections
import dataclasses
import math
import random
from collections.abc import Iterator, Sequence, Set

from tfcopy.data.corpora.corpus import Split, TranslationCorpus, fingerprint

RULE_TYPES = ("x -> none", "x -> x", "x -> xx", "xy -> x", "xy -> xy")

_VARIABLES = ("x", "y")
_FEWEST, _MOST = 5, 20
_MOST_SYMBOLS = 1000  # names of three digits
_MAX_DRAWS = 1000  # of a filling that is new


@dataclasses.dataclass(frozen=True)
class Rule:
    """Rule that rewrites the strings that match its left side.

    Args:
        type: One of `RULE_TYPES`: the variables of both sides.
        left: Symbols and variables, `"x"` and `"y"`, of the left side.
        right: Symbols and variables of the right side.
    """

    type: str
    left: tuple[str, ...]
    right: tuple[str, ...]

    def fill(self, x: str, y: str) -> tuple[str, str]:
        """Returns source and target for these values of `x` and `y`."""
        values = {"x": x, "y": y}
        return tuple(
            " ".join(values.get(token, token) for token in side)
            for side in (self.left, self.right)
        )


def make_rules(
    rules_per_type: int,
    *,
    num_symbols: int = 1000,
    count: str = "both",
    left_symbols: Sequence[int] = (4, 14),
    right_symbols: Sequence[int] = (1, 6),
    seed: int = 19920206,
) -> list[Rule]:
    """Draws rules, type by type.

    The rules of the paper were never published. In ours, the symbols of the
    left side differ from each other; each symbol of the right side is one of
    them with probability 1/2, otherwise any other. Variables may be anywhere,
    but `x` and `y` never side by side on the left, where the end of `x` would
    be ambiguous. No two rules have the same symbols on the left.

    Args:
        rules_per_type: Number of rules of each type.
        num_symbols: Number of symbols, `"000"` and so on, at most 1,000.
        count: The symbols that the length of 5 to 20 counts, which the paper
            leaves open: `"both"`, the symbols of both sides, or `"source"`, the
            symbols and variables of the left side. The default lengths obey
            both.
        left_symbols: Fewest and most symbols of the left side.
        right_symbols: Fewest and most symbols of the right side.
        seed: Seed of the rules; they are the same on every machine.

    Raises:
        ValueError: an argument is out of its range, or no rule fits them all.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 5.1.
    """
    fewest = left_symbols[1] + right_symbols[1] + 1
    require(
        fewest <= num_symbols <= _MOST_SYMBOLS,
        "num_symbols",
        f"{fewest} (one more than a rule may have) to {_MOST_SYMBOLS}",
        num_symbols,
    )
    rng = random.Random(seed)
    symbols = symbol_names(num_symbols)
    rules, used = [], set()
    for kind in RULE_TYPES:
        sizes = _sizes(kind, count, left_symbols, right_symbols)
        longest = max(num_left for num_left, _ in sizes)
        most = math.perm(num_symbols, longest) // len(RULE_TYPES)
        require(
            rules_per_type <= most,
            "rules_per_type",
            f"at most {most} with so few symbols",
            rules_per_type,
        )
        of_this_kind = 0
        while of_this_kind < rules_per_type:
            num_left, num_right = rng.choice(sizes)
            left = tuple(rng.sample(symbols, num_left))
            if left not in used:
                used.add(left)
                rules.append(_rule(rng, kind, left, num_right, symbols))
                of_this_kind += 1
    return rules


def generate(
    rules: Sequence[Rule],
    instances: int,
    *,
    split: str,
    num_symbols: int,
    longest_filling: int,
    no_collision: bool,
    seed: int,
    seen: Set[str] = frozenset(),
) -> Iterator[tuple[str, str, int]]:
    """Yields source, target and index of the rule, in random order.

    Args:
        rules: From `make_rules`.
        instances: Number of pairs of each rule.
        split: Name of the split; each split has different pairs.
        num_symbols: Number of symbols.
        longest_filling: The most symbols of a filling.
        no_collision: Whether a filling has no symbol of its rule.
        seed: Seed of the pairs; they are the same on every machine.
        seen: Sources that are drawn again.

    Raises:
        ValueError: a rule has no source left that is not in `seen`.
    """
    rng = random.Random(f"{seed} {split}")
    order = [index for index in range(len(rules)) for _ in range(instances)]
    rng.shuffle(order)
    all_symbols = symbol_names(num_symbols)
    for index in order:
        rule, symbols = rules[index], all_symbols
        if no_collision:
            of_rule = {*rule.left, *rule.right}
            symbols = [symbol for symbol in symbols if symbol not in of_rule]
        for _ in range(_MAX_DRAWS):
            x, y = (
                draw_text(rng, symbols, longest_filling) for _ in _VARIABLES
            )
            source, target = rule.fill(x, y)
            if source not in seen:
                break
        else:
            raise ValueError(
                "`longest_filling` and `num_symbols` must leave new fillings "
                f"for the {split} split. Received: {longest_filling} and "
                f"{num_symbols}, with {instances} pairs of each rule."
            )
        yield source, target, index


def draw_text(rng: random.Random, symbols: Sequence[str], longest: int) -> str:
    """Draws 1 to `longest` symbols, all lengths equally likely."""
    return " ".join(rng.choices(symbols, k=rng.randint(1, longest)))


def symbol_names(num_symbols: int) -> list[str]:
    """Returns the symbols `"000"`, `"001"`, and so on."""
    return [f"{number:03}" for number in range(num_symbols)]


def require(fits: bool, name: str, expected: str, received) -> None:
    """Raises a ValueError that names the argument unless it `fits`."""
    if not fits:
        raise ValueError(f"`{name}` must be {expected}. Received: {received}.")


def _sizes(kind, count, left_symbols, right_symbols):
    """Returns all pairs of lengths, which are equally likely."""
    num_variables = len(kind.split(" -> ")[0])

    def count_symbols(num_left, num_right):
        return num_left + (num_right if count == "both" else num_variables)

    sizes = [
        (num_left, num_right)
        for num_left in range(left_symbols[0], left_symbols[1] + 1)
        for num_right in range(right_symbols[0], right_symbols[1] + 1)
        if _FEWEST <= count_symbols(num_left, num_right) <= _MOST
    ]
    require(
        bool(sizes),
        "left_symbols",
        f"such that a rule can have {_FEWEST} to {_MOST} symbols",
        f"{left_symbols}, with right_symbols={right_symbols}, count={count}",
    )
    return sizes


def _rule(rng, kind, left, num_right, symbols):
    sides = [side.replace("none", "") for side in kind.split(" -> ")]
    others = [symbol for symbol in symbols if symbol not in left]
    right = [
        rng.choice(left if rng.random() < 0.5 else others)
        for _ in range(num_right)
    ]
    # Never the same gap twice on the left: a symbol separates x and y.
    gaps = rng.sample(range(len(left) + 1), len(sides[0]))
    left = _insert(rng, left, sides[0], gaps)
    gaps = [rng.randint(0, num_right) for _ in sides[1]]
    return Rule(kind, left, _insert(rng, right, sides[1], gaps))


def _insert(rng, symbols, variables, gaps):
    """Inserts the variables into these gaps, in a random order."""
    tokens = list(symbols)
    variables = rng.sample(variables, len(variables))
    for gap, variable in zip(sorted(gaps, reverse=True), variables):
        tokens.insert(gap, variable)
    return tuple(tokens)


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
) -> RulesCorpus:
    """Generates the corpus in a second.

    The same rules make the pairs of all splits, with different fillings. These
    are drawn independently, as in the authors' code, so short ones may recur
    within a split; but no source of validation or test occurs in training. One
    training pair in twenty is held out for validation, evenly over the rules.

    Args:
        rules_per_type: Number of rules of each of the five types.
        instances: Even number of pairs of each rule, half of them for
            training, half for testing.
        num_symbols: Number of symbols, `"000"` and so on, at most 1,000.
        longest_filling: The most symbols of a filling; the fewest are one.
        left_symbols: Fewest and most symbols of a rule's left side.
        right_symbols: Fewest and most symbols of its right side.
        no_collision: Whether a filling has no symbol of its rule.
        count: See `make_rules`.
        seed: Seed of the pairs; they are the same on every machine.

    Raises:
        ValueError: an argument is out of its range.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 5.1.
    """
    require(
        instances % 2 == 0,
        "instances",
        "even: half are trained on, half tested",
        instances,
    )
    rules = make_rules(
        rules_per_type,
        num_symbols=num_symbols,
        count=count,
        left_symbols=left_symbols,
        right_symbols=right_symbols,
        seed=seed,
    )
    rows, seen = {}, set()
    for split in ("train", "test"):
        pairs = generate(
            rules,
            instances // 2,
            split=split,
            num_symbols=num_symbols,
            longest_filling=longest_filling,
            no_collision=no_collision,
            seed=seed,
            seen=seen,
        )
        rows[split] = list(pairs)
        seen = {source for source, *_ in rows[split]}
    return _corpus(rules, rows)


def _corpus(rules, rows):
    """Makes the corpus from rows `(source, target, index of the rule)`."""
    train = rows["train"]
    num_validation = max(1, len(train) // _HELD_OUT_SHARE)
    times = collections.Counter(source for source, *_ in train)

    def key(i):
        source, _, rule = train[i]
        return rule, times[source]  # repeated sources are held out last

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
