import collections
import hashlib

import pytest

from tfcopy.data.corpora.corpus import SPLITS
from tfcopy.data.generated import copy_rules

SMALL = dict(rules_per_type=3, instances=8, num_symbols=30, longest_filling=4)


@pytest.fixture(scope="module")
def rows():
    """Rows of both drawn splits, of the sizes of the paper."""
    rules, found = copy_rules.make_rules(40), {}
    for split in ("train", "test"):
        found[split] = [
            *copy_rules.generate(
                rules,
                100,
                split=split,
                num_symbols=1000,
                longest_filling=15,
                no_collision=False,
                seed=19920206,
                seen={source for source, *_ in found.get("train", ())},
            )
        ]
    return found


def fillings(pattern, tokens, found=()):
    """All ways to read `tokens` as `pattern`, a variable as 1+ tokens each."""
    if not pattern:
        return [dict(found)] if not tokens else []
    first, rest = pattern[0], pattern[1:]
    if first not in ("x", "y"):
        same = tokens[:1] == [first]
        return fillings(rest, tokens[1:], found) if same else []
    return [
        filling
        for size in range(1, len(tokens) - len(rest) + 1)
        for filling in fillings(
            rest, tokens[size:], (*found, (first, tokens[:size]))
        )
    ]


# === The rules ===


@pytest.mark.parametrize("count", ["both", "source"])
def test_rules_have_the_variables_and_lengths_of_their_type(count):
    wide = {"left_symbols": (2, 30), "right_symbols": (1, 12)}
    rules = copy_rules.make_rules(40, count=count, **wide)
    counts = collections.Counter(rule.type for rule in rules)
    assert counts == dict.fromkeys(copy_rules.RULE_TYPES, 40)
    sizes = set()
    for rule in rules:
        sides = rule.type.replace("none", "").split(" -> ")
        for side, variables in zip((rule.left, rule.right), sides):
            assert sorted(set(side) & {"x", "y"}) == sorted(set(variables))
            assert sum(token in ("x", "y") for token in side) == len(variables)
        symbols = [token for token in rule.left if token not in ("x", "y")]
        assert len(set(symbols)) == len(symbols)
        num_right = len(rule.right) - len(sides[1])
        assert 2 <= len(symbols) <= 30 and 1 <= num_right <= 12
        sizes.add(
            len(rule.left) if count == "source" else len(symbols) + num_right
        )
    assert (min(sizes), max(sizes)) == (5, 20)


# === The pairs ===


def test_every_pair_follows_from_its_rule(rows):
    rules = copy_rules.make_rules(40)
    for pairs in rows.values():
        counts = collections.Counter()
        lengths = collections.Counter()
        for source, target, index in pairs:
            rule = rules[index]
            counts[index] += 1
            found = fillings(rule.left, source.split(" "))
            targets = [
                [w for token in rule.right for w in f.get(token, [token])]
                for f in found
            ]
            assert target.split(" ") in targets, source
            if len(found) == 1:
                lengths.update(len(value) for value in found[0].values())
        assert counts == dict.fromkeys(range(200), 100)
        assert set(lengths) == set(range(1, 16))


def test_splits_and_the_rules_of_the_test_pairs(rows):
    result, rules = copy_rules.load(), copy_rules.make_rules(40)
    corpus = result.corpus
    pairs = {name: list(corpus.splits[name]) for name in SPLITS}
    assert pairs["test"] == [row[:2] for row in rows["test"]]
    assert result.test_rules == [row[2] for row in rows["test"]]
    assert result.test_types == [rules[row[2]].type for row in rows["test"]]
    # Train and validation are drawn together, each in its order.
    assert sorted(pairs["train"] + pairs["validation"]) == sorted(
        row[:2] for row in rows["train"]
    )
    rule_of = {row[:2]: row[2] for row in rows["train"]}
    held_out = collections.Counter(rule_of[p] for p in pairs["validation"])
    assert held_out == dict.fromkeys(range(200), 5)
    # Mixed: neighbours seldom have the same rule.
    order = [rule_of[pair] for pair in pairs["train"]]
    same = sum(a == b for a, b in zip(order, order[1:]))
    assert same < 200 and len(set(order[:500])) > 150
    assert corpus.tokenized and corpus.generated
    assert (corpus.source_language, corpus.target_language) == ("other",) * 2


def test_no_collision_keeps_the_symbols_of_a_rule_out():
    collisions = {}
    rules = copy_rules.make_rules(3, num_symbols=30)
    for no_collision in (False, True):
        collisions[no_collision] = 0
        for source, _, index in copy_rules.generate(
            rules,
            4,
            split="train",
            num_symbols=30,
            longest_filling=4,
            no_collision=no_collision,
            seed=19920206,
        ):
            rule = rules[index]
            own = [w for w in source.split() if w in rule.left + rule.right]
            left = [w for w in rule.left if w not in ("x", "y")]
            collisions[no_collision] += len(own) > len(left)
    assert collisions[False] > 20 and collisions[True] == 0


def test_the_same_seed_gives_the_same_pairs(rows):
    """New digests are due whenever the generator changes, and only then."""
    rules = copy_rules.make_rules(40)
    digests = {}
    for split, some in rows.items():
        lines = (f"{x}\t{y}\t{i}\t{rules[i].type}\n" for x, y, i in some)
        text = "".join(lines).encode()
        digests[split] = hashlib.sha256(text).hexdigest()[:16]
    assert digests == {"train": "1ee6f62d8b63e3a6", "test": "1137ac3d1763bd4a"}
    first, again = copy_rules.load(**SMALL), copy_rules.load(**SMALL)
    other = copy_rules.load(**SMALL, seed=1)
    assert first.corpus.fingerprint == again.corpus.fingerprint
    assert first.corpus.fingerprint != other.corpus.fingerprint
    assert list(first.corpus.train) == list(again.corpus.train)


@pytest.mark.parametrize(
    "name, value",
    [
        ("instances", 7),
        ("num_symbols", 20),
        ("num_symbols", 1001),
        ("left_symbols", (21, 22)),
    ],
)
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be.*Received: "):
        copy_rules.load(**{**SMALL, name: value})


def test_more_rules_than_there_are_left_sides():
    sizes = {"left_symbols": (1, 1), "right_symbols": (4, 4)}
    assert len(copy_rules.make_rules(2, num_symbols=10, **sizes)) == 10
    with pytest.raises(ValueError, match="`rules_per_type` must be at most 2"):
        copy_rules.make_rules(3, num_symbols=10, **sizes)
