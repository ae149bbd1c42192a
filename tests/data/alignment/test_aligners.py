"""Links, IBM Model 1, and the Pharaoh format."""

import collections
import gzip
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.alignment import aligners, word_links
from tfcopy.data.alignment.aligners import NULL, align, ibm_model1
from tfcopy.data.alignment.word_links import Links, Sentences, one_to_one

# la maison | the house; la fleur | the flower; une fleur | a flower
LA, MAISON, FLEUR, UNE = range(4)
THE, HOUSE, FLOWER, A = range(4)
FRENCH = Sentences.from_rows([[LA, MAISON], [LA, FLEUR], [UNE, FLEUR]])
ENGLISH = Sentences.from_rows([[THE, HOUSE], [THE, FLOWER], [A, FLOWER]])

sentence = st.lists(st.integers(0, 4), max_size=5)
corpora = st.lists(st.tuples(sentence, sentence), max_size=6)


def sides(pairs):
    return [Sentences.from_rows(pair[i] for pair in pairs) for i in (0, 1)]


def links_of(rows):
    """Links from `(pair, source, target)` rows."""
    return Links(*np.array(rows, np.int64).reshape(-1, 3).T)


def rows_of(links):
    return list(zip(*(x.tolist() for x in links)))


def reference(pairs, rounds, null):
    """IBM Model 1, word by word: {(source id, target id): t}."""
    extra = [NULL] if null else []
    t = collections.defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts, totals = collections.Counter(), collections.Counter()
        for source, target in pairs:
            for e in target:
                total = sum(t[f, e] for f in extra + source)
                for f in extra + source:
                    counts[f, e] += t[f, e] / total
                    totals[f] += t[f, e] / total
        t = {(f, e): count / totals[f] for (f, e), count in counts.items()}
    return t


def t_of(table, f, e):
    return table.get((f, e), 0.0)


# === IBM Model 1 ===


def test_probabilities_of_three_pairs():
    table = ibm_model1(FRENCH, ENGLISH, rounds=5, null=False)
    found = table.probability([LA, MAISON], [THE, HOUSE])
    np.testing.assert_allclose(found, [0.8961, 0.7817], atol=5e-5)


@settings(max_examples=50)
@given(corpora, st.integers(1, 4), st.booleans(), st.integers(1, 60))
def test_follows_the_equations(pairs, rounds, null, chunk):
    source, target = sides(pairs)
    with mock.patch.object(aligners, "_CHUNK", chunk):
        table = ibm_model1(source, target, rounds=rounds, null=null)
    expected = reference(pairs, rounds, null)
    assert len(table.keys) == len(expected)
    ids = np.arange(NULL, 6)
    found = table.probability(ids[:, None], np.arange(6))
    for i, f in enumerate(ids):
        for e in range(6):
            assert found[i, e] == pytest.approx(expected.get((f, e), 0.0))


@settings(max_examples=50)
@given(corpora, st.integers(1, 60))
def test_links_are_the_likeliest(pairs, chunk):
    source, target = sides(pairs)
    with mock.patch.object(aligners, "_CHUNK", chunk):
        found = align(source, target, rounds=3)
        both = [
            aligners._best(ibm_model1(*x, rounds=3), *x)
            for x in ((source, target), (target, source))
        ]
    for best, held, asked, some in (
        (both[0], source, target, pairs),
        (both[1], target, source, [pair[::-1] for pair in pairs]),
    ):
        table = reference(some, 3, null=True)
        owners = asked.owners(np.arange(len(asked.ids)))
        for place, p, e in zip(best, owners, asked.ids):
            most = max([t_of(table, f, e) for f in held[p]], default=0.0)
            null = t_of(table, NULL, e)
            if place >= 0:
                assert held.owners([place]) == p
                assert t_of(table, held.ids[place], e) == pytest.approx(most)
                assert most >= null * (1 - 1e-9)
            else:
                assert most <= null * (1 + 1e-9)
    mutual = [(i, j) for j, i in enumerate(both[0]) if i >= 0]
    mutual = [(i, j) for i, j in mutual if both[1][i] == j]
    expected = Links.from_places(
        source, target, *np.array(mutual, int).reshape(-1, 2).T
    )
    assert rows_of(found) == rows_of(expected)


def test_equal_words_are_linked_along_the_diagonal():
    rows = [[0, 1, 0], [0], [1]]
    found = align(Sentences.from_rows(rows), Sentences.from_rows(rows))
    expected = [(0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 0, 0), (2, 0, 0)]
    assert rows_of(found) == expected


# === Sentences and links ===


def test_sentences_that_are_not_kept_are_empty():
    sentences = Sentences.from_rows([[5, 6], [], [7], [8, 9]])
    kept = sentences.keep(np.array([True, True, False, True]))
    assert [row.tolist() for row in map(kept.__getitem__, range(4))] == [
        [5, 6],
        [],
        [],
        [8, 9],
    ]
    assert kept.owners(np.arange(4)).tolist() == [0, 0, 3, 3]


def test_reversed_links_are_in_order():
    links = links_of([(0, 0, 2), (0, 1, 0), (2, 0, 0)])
    assert rows_of(links.reverse()) == [(0, 0, 1), (0, 2, 0), (2, 0, 0)]


def test_of_several_links_the_most_usual_stays():
    """près d' | near: `d'` is linked to other words elsewhere."""
    source = Sentences.from_rows([[0, 1], [0], [1], [1]])
    target = Sentences.from_rows([[5], [5], [6], [6]])
    links = links_of([(0, 0, 0), (0, 1, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)])
    expected = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)]
    assert rows_of(one_to_one(links, source, target)) == expected


def some_links(pairs, random, share):
    return [
        (p, i, j)
        for p, pair in enumerate(pairs)
        for i in range(len(pair[0]))
        for j in range(len(pair[1]))
        if random.random() < share
    ]


@given(corpora, st.randoms(use_true_random=False))
def test_one_to_one(pairs, random):
    source, target = sides(pairs)
    rows = some_links(pairs, random, 0.5)
    kept = rows_of(one_to_one(links_of(rows), source, target))
    assert set(kept) <= set(rows) and kept == sorted(kept)
    assert bool(kept) == bool(rows)
    for side in (1, 2):
        assert len({(row[0], row[side]) for row in kept}) == len(kept)
    assert rows_of(one_to_one(links_of(kept), source, target)) == kept


# === The Pharaoh format ===


@given(corpora, st.randoms(use_true_random=False))
def test_pharaoh_round_trip(tmp_path_factory, pairs, random):
    source, target = sides(pairs)
    rows = some_links(pairs, random, 0.3)
    path = tmp_path_factory.mktemp("links") / "links"
    word_links.write(path, links_of(rows), len(pairs))
    assert path.read_text().count("\n") == len(pairs)
    assert rows_of(word_links.read(path, lengths(source, target))) == rows


def lengths(source, target):
    return np.stack([source.lengths, target.lengths], axis=1)


def test_pharaoh_format(tmp_path):
    path = tmp_path / "links"
    links = links_of([(0, 0, 1), (0, 1, 0), (2, 1, 1)])
    word_links.write(path, links, 3)
    assert path.read_text() == "0-1 1-0\n\n1-1\n"
    path = tmp_path / "links.gz"
    path.write_bytes(gzip.compress(b"1-0 0-1  1-0\r\n\n1-1"))
    assert rows_of(word_links.read(path, lengths(FRENCH, ENGLISH))) == rows_of(
        links
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("0-0\n0:0\n\n", r"links, line 2: expected links such as .*'0:0'"),
        ("0-0\n-1-0\n\n", r"links, line 2: expected links such as .*'-1-0'"),
        ("0-0\n\n0-2\n", r"links, line 3: .* 2 and 2 words.* from 0.*'0-2'"),
        ("0-0\n\n2-0\n", r"links, line 3: .*'2-0'"),
        ("0-0\n", r"links: expected 3 lines.*Received: 1 lines"),
        ("\n\n\n9-9\n", r"links: expected 3 lines.*Received: 4 lines"),
        ("", r"links: expected 3 lines.*Received: 0 lines"),
    ],
)
def test_pharaoh_faults_are_named(tmp_path, text, message):
    path = tmp_path / "links"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        word_links.read(path, lengths(FRENCH, ENGLISH))


def test_a_missing_alignment_is_named(tmp_path):
    with pytest.raises(ValueError, match="links: cannot be read"):
        word_links.read(tmp_path / "links", lengths(FRENCH, ENGLISH))
