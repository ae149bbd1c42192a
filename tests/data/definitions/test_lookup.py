import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfcopy.data.definitions import NUM_ENTRIES, DefinitionLookup, Definitions

# Headwords and their parts of speech.
PARTS = {
    "turkey": "n",
    "Turkey": "n",
    "NASA": "n",
    "US": "n",
    "Jew": "n",
    "Norman": "na",
    "run": "vn",
    "running": "n",
    "leaf": "n",
    "leave": "v",
    "post": "nv",
    "poster": "n",
    "hi": "n",
    "watch": "v",
    "most": "r",
    "well": "r",
    "known": "a",
    "well-known": "a",
    "give up": "v",
    "blog": "-",
    "été": "n",
}
LEMMAS = {
    "leaves": ("leaf", "leave"),
    "ran": ("run",),
    "running": ("run",),
    "his": (),
    "us": (),
    "normans": ("norman",),
    "watches": ("blog", "none", "run"),
}


def make(parts, lemmas=None):
    return Definitions(
        tuple(parts),
        tuple(((("x",),) * len(x)) for x in parts.values()),
        lemmas or {},
        tuple(parts.values()),
    )


SMALL = make(PARTS, LEMMAS)


@pytest.fixture(scope="module")
def lookup():
    return DefinitionLookup(SMALL)


def found(lookup, word):
    row = lookup.entries(tf.constant(word)).numpy().tolist()
    return [SMALL.headwords[i - 1] for i in row if i]


@pytest.mark.parametrize(
    "word, expected",
    [
        *(("turkey", "turkey"), ("Turkey", "Turkey turkey")),
        *(("TURKEY", "turkey"), ("Turkeys", "turkey"), ("Été", "été")),
        *(("running", "running run"), ("ran", "run"), ("Ran", "run")),
        *(("leaves", "leaf leave"), ("leave", "leave")),
        ("poster", "poster"),  # `post` is no adjective
        *(("posters", "poster"), ("posts", "post"), ("blogged", "")),
        ("bloging", "blog"),
        ("bloger", "blog"),  # whose part of speech is not known
        ("his", ""),  # an exception that has no lemma
        *(("watches", "blog run"), ("most-watched", "most watch")),
        *(("Well-known", "well-known"), ("well-running", "well running run")),
        *(("-well--NASA-none", "well NASA"), ("Jews", "Jew")),
        ("jews", ""),  # `jew` is too short
        *(("us", ""), ("Us", ""), ("US", "US"), ("nasa", "NASA")),
        *(("Nasa", "NASA"), ("normans", "Norman"), ("Normans", "Norman")),
        *(("", ""), ("-", ""), ("none", "")),
    ],
)
def test_entries_of_a_word(lookup, word, expected):
    assert found(lookup, word) == expected.split()


def test_phrases_are_headwords(lookup):
    assert found(lookup, "give up") == found(lookup, "Give up") == ["give up"]


def test_no_more_than_so_many_entries():
    parts = dict.fromkeys(["Ban", "ban", "x1", "x2", "x3"], "n")
    lemmas = ("q1", "q2", "q3", "x3", "x1", "x2")  # three are no headwords
    lookup = DefinitionLookup(make(parts, {"ban": lemmas}))
    assert lookup.entries("Ban").numpy().tolist() == [1, 2, 5, 3]
    # The first entries of all parts come first.
    assert lookup.entries("q-Ban-x2").numpy().tolist() == [1, 4, 2, 5]


def test_without_lemmas():
    lookup = DefinitionLookup(SMALL, lemmas=False)
    for word, expected in [
        ("Turkey", ["Turkey", "turkey"]),
        ("leaves", []),
        ("posts", []),
        ("nasa", ["NASA"]),
        ("most-watch", ["most", "watch"]),
    ]:
        assert found(lookup, word) == expected


def test_shape_of_the_words(lookup):
    words = tf.constant([["ran", ""], ["none", "Turkey"], ["ran", "post"]])
    entries = lookup.entries(words)
    assert entries.dtype == tf.int32
    expected = [
        [lookup.entries(word).numpy().tolist() for word in row] for row in words
    ]
    assert entries.numpy().tolist() == expected
    ragged = tf.RaggedTensor.from_tensor(words, lengths=[1, 0, 2])
    entries = lookup.entries(ragged)
    assert entries.to_list() == [expected[0][:1], [], expected[2]]
    for shape in ([0], [2, 0], [0, 3]):
        empty = lookup.entries(tf.zeros(shape, tf.string))
        assert empty.shape == [*shape, NUM_ENTRIES]


# === Against the same in plain Python ===

RULES = {
    "n": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "v": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "a": "er: est: er:e est:e",
}


def by_rule(table, parts, form):
    for part, rules in RULES.items():
        for rule in rules.split():
            suffix, ending = rule.split(":")
            is_short = len(form) < 3 or form.endswith("ss")
            if rule == "s:" and part == "n" and is_short:
                continue
            stem = form.removesuffix(suffix) + ending
            number = table.get(stem) if form.endswith(suffix) else None
            if number and {part, "-"} & set(parts[number]):
                yield number
                break


def by_hand(definitions, word):
    exact = {w: i for i, w in enumerate(definitions.headwords, start=1)}
    parts = dict(enumerate(definitions.parts_of_speech, start=1))
    folded = {}
    for w, i in exact.items():
        if len(w) > 3 and w.lower() not in exact:
            folded.setdefault(w.lower(), i)

    def whole(word):
        for table, form in [
            (exact, word.lower()),
            (exact, word),
            (folded, word.lower()),
        ]:
            numbers = [table.get(word), table.get(form)]
            if form and form in definitions.lemmas:
                for lemma in definitions.lemmas[form]:
                    numbers.append(exact.get(lemma) or folded.get(lemma))
            else:
                numbers += by_rule(table, parts, form)
            numbers = list(dict.fromkeys(filter(None, numbers)))
            if numbers:
                return numbers[:NUM_ENTRIES]
        return []

    numbers = whole(word)
    if not numbers:
        rows = [whole(part) for part in word.split("-")[:NUM_ENTRIES]]
        ranked = [r[i] for i in range(NUM_ENTRIES) for r in rows if i < len(r)]
        numbers = list(dict.fromkeys(ranked))
    return (numbers + [0] * NUM_ENTRIES)[:NUM_ENTRIES]


STEMS = "make mak star stare sta try box bus us boss cold man Man MAKE Star é"
SUFFIXES = ["", "", "s", "es", "ies", "ses", "ed", "ing", "er", "est", "men"]
WORDS = st.one_of(
    st.builds(
        lambda stem, suffix, case: case(stem + suffix),
        st.sampled_from(STEMS.split()),
        st.sampled_from(SUFFIXES),
        st.sampled_from([str, str, str.capitalize, str.upper]),
    ),
    st.text("aAsé", max_size=3),
)
TEXTS = st.lists(
    st.lists(WORDS, min_size=1, max_size=6).flatmap(
        lambda words: st.sampled_from([words[0], "-".join(words)])
    ),
    max_size=20,
)


@settings(max_examples=60)
@given(
    st.dictionaries(
        WORDS.filter(bool),
        st.text("nvar-", min_size=1, max_size=2),
        max_size=15,
    ),
    st.dictionaries(
        WORDS.map(str.lower), st.lists(WORDS, max_size=5).map(tuple), max_size=3
    ),
    TEXTS,
)
@example({}, {}, ["a", "a-b", ""])
# Parts of words are filled up with an empty form, which has no lemmas.
@example({"make": "a"}, {"": ("make",)}, ["A", "-", ""])
def test_agrees_with_plain_python(parts, lemmas, words):
    definitions = make(parts, lemmas)
    lookup = DefinitionLookup(definitions)
    entries = lookup.entries(tf.constant(words, tf.string)).numpy().tolist()
    assert entries == [by_hand(definitions, word) for word in words]


@settings(max_examples=20)
@given(st.lists(st.binary(max_size=8)))
def test_any_bytes_are_words(words):
    lookup = DefinitionLookup(make({"a": "n"}))
    entries = lookup.entries(tf.constant(words, tf.string)).numpy()
    assert entries.shape == (len(words), NUM_ENTRIES)
    assert all(row.tolist() in ([1, 0, 0, 0], [0] * 4) for row in entries)
