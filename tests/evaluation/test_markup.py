import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.real_corpora import documentation_pairs
from tfcopy.evaluation.translations import score_kept_markup

PROTECT = ("rst", "printf", "brace")
WORDS = ["``a``", "``b``", ":func:`f`", "%s", "{0}", "http://x.org", "el"]
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
pairs = st.lists(st.tuples(texts, texts), max_size=5)


def kept(*pairs):
    sources, answers = zip(*pairs) if pairs else ((), ())
    return score_kept_markup(sources, answers, PROTECT)


def test_what_is_kept_is_counted():
    assert kept(
        ("no markup", "``x``"),
        ("open ``a`` by :func:`b`", "con :func:`b` se abre ``a``"),
        ("the %s, the %s and {0!r}", "el %s y {0!r}"),
        ("call ``f``", "llame a ``f``, no a ``g``"),
        ("set ``None``", "sea ``Ninguno``"),
    ) == {
        "spans": 7,
        "spans_kept": pytest.approx(100 * 5 / 7),
        "texts": 4,
        "texts_kept": 50,
        "texts_exact": 25,
    }


@pytest.mark.parametrize(
    "answer, spans_kept, texts_kept, texts_exact",
    [
        ("``a`` ``a`` %s", 100, 100, 100),
        ("%s ``a`` y ``a``", 100, 100, 100),
        ("``a`` ``a`` %s %s", 100, 100, 0),
        ("``a`` %s", 200 / 3, 0, 0),
        ("``a`` %s %s %s", 200 / 3, 0, 0),
        ("``A`` ` `a`` % s", 0, 0, 0),
        ("", 0, 0, 0),
    ],
)
def test_a_span_counts_as_often_as_it_stands(
    answer, spans_kept, texts_kept, texts_exact
):
    assert kept(("``a`` %s ``a``", answer)) == {
        "spans": 3,
        "spans_kept": pytest.approx(spans_kept),
        "texts": 1,
        "texts_kept": texts_kept,
        "texts_exact": texts_exact,
    }


def test_without_markup_nothing_is_lost():
    full = dict.fromkeys(("spans_kept", "texts_kept", "texts_exact"), 100)
    assert kept() == kept(("a", "b")) == {"spans": 0, "texts": 0} | full


def test_patterns_are_those_that_are_given():
    source, answer = "``a`` <b> x1", "<b> ``A`` x1"
    for protect, share in (
        (("rst",), 0),
        (("html",), 100),
        (("html", "rst"), 50),
        ((r"[a-z]\d",), 100),
    ):
        scores = score_kept_markup([source], [answer], protect)
        assert scores["spans_kept"] == share


@given(pairs)
def test_scores_are_shares_in_order(pairs):
    scores = kept(*pairs)
    exact, texts, spans = (
        scores[name] for name in ("texts_exact", "texts_kept", "spans_kept")
    )
    # Where all of a text is kept, its spans are: they are as many or more.
    assert 0 <= exact <= texts <= 100 and 0 <= spans <= 100
    assert (texts == 100) == (spans == 100)


@given(st.lists(texts, max_size=5), st.randoms(use_true_random=False))
def test_any_order_keeps_all(sources, random):
    answers = [
        " ".join(random.sample(source.split(), len(source.split())))
        for source in sources
    ]
    scores = score_kept_markup(sources, answers, PROTECT)
    names = ("spans_kept", "texts_kept", "texts_exact")
    assert all(scores[name] == 100 for name in names)


@given(pairs, pairs)
def test_scores_are_averages_over_spans_and_texts(first, second):
    one, other, both = kept(*first), kept(*second), kept(*first, *second)
    for count, names in (
        ("spans", ("spans_kept",)),
        ("texts", ("texts_kept", "texts_exact")),
    ):
        assert both[count] == one[count] + other[count]
        for name in names:
            total = one[count] * one[name] + other[count] * other[name]
            assert both[count] * both[name] == pytest.approx(total)


def test_people_keep_most_markup_of_documentation():
    sources, references = (
        gzip.decompress((documentation_pairs() / name).read_bytes())
        .decode()
        .splitlines()
        for name in ("test.en.gz", "test.es.gz")
    )
    scores = score_kept_markup(sources, references, PROTECT)
    print(scores)
    assert scores["spans"] > 4_000
    assert 90 < scores["spans_kept"] < 99
    assert scores["texts_exact"] < scores["texts_kept"] < 98
