import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.definitions.test_lookup import by_rule, make
from tfcopy.data.definitions.phrases import PhraseLookup, without_overlap
from tfcopy.data.text.tokenization import Tokenizer

# Headwords and their parts of speech.
PARTS = {
    "give": "v",
    "give up": "v",
    "give up the ghost": "v",
    "the ghost writer": "n",
    "The City": "n",
    "New York": "n",
    "steam engine": "n",
    "steam": "n",
    "brother in law": "n",
    "arm chair": "-",
    "up to": "r",
    "one two three four five": "n",
    "one two three four five six": "n",
}
LEMMAS = {"gave": ("give",), "brethren": ("brother",), "steams": ()}
SMALL = make(PARTS, LEMMAS)
WORDS = tuple(PARTS)


@pytest.fixture(scope="module")
def lookup():
    return PhraseLookup(SMALL, frequent=["up", "to", "the"])


def found(lookup, text):
    """Pairs of the words of a phrase as they stand, and its headword."""
    words = text.split()
    entries, positions = (
        x[0].numpy().tolist() for x in lookup.phrases(tf.constant([words]))
    )
    phrases = []
    for word, entry, position in zip(words, entries, positions):
        assert (entry == 0) == (position == 0)
        if position == 1:
            phrases.append(([], SMALL.headwords[entry - 1]))
        if position:
            assert phrases[-1][1] == SMALL.headwords[entry - 1]
            phrases[-1][0].append(word)
    return [(" ".join(part), headword) for part, headword in phrases]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("they give up today", {"give up": "give up"}),
        ("Give Up", {"Give Up": "give up"}),
        ("he Gave up", {"Gave up": "give up"}),
        ("giving up", {"giving up": "give up"}),
        ("gives up the ghosts", {"gives up": "give up"}),  # not both
        ("steam engines", {"steam engines": "steam engine"}),
        ("Steam ENGINES", {"Steam ENGINES": "steam engine"}),
        ("steamed engine", {}),  # it is a noun
        ("armed chair", {"armed chair": "arm chair"}),  # of any part of speech
        ("steams engine", {}),  # listed, of no lemma
        ("brethren in law", {"brethren in law": "brother in law"}),
        ("brother ins law", {}),  # only the first or the last
        ("brothers in laws", {}),
        ("The City", {"The City": "The City"}),
        ("the City", {}),
        ("the city", {}),
        ("THE CITY", {}),
        ("The Cities", {}),
        ("New York New York", {"New York": "New York"}),
        ("new york", {}),
        ("up to", {}),  # all its words are frequent
        ("give", {}),
        ("One two three four five", {"One two three four five": WORDS[-2]}),
        ("one two three four five six", {WORDS[-2]: WORDS[-2]}),
    ],
)
def test_phrases_of_a_text(lookup, text, expected):
    assert dict(found(lookup, text)) == expected


def test_the_leftmost_and_then_the_longest(lookup):
    assert found(lookup, "give up the ghost writer") == [
        ("give up the ghost", "give up the ghost")
    ]
    assert found(lookup, "up the ghost writer give up") == [
        ("the ghost writer", "the ghost writer"),
        ("give up", "give up"),
    ]
    assert found(lookup, "New York New York City") == [
        ("New York", "New York"),
        ("New York", "New York"),
    ]


def test_where_in_a_phrase_a_word_stands(lookup):
    words = ["oh", "give", "up", "the", "ghost", "steam", "engines", "up"]
    entries, positions = lookup.phrases(tf.constant([words]))
    number = [WORDS.index(w) + 1 for w in ("give up the ghost", "steam engine")]
    assert entries.dtype == positions.dtype == tf.int32
    assert positions.numpy().tolist() == [[0, 1, 2, 2, 3, 1, 3, 0]]
    assert entries.numpy().tolist() == [
        [0, *[number[0]] * 4, *[number[1]] * 2, 0]
    ]


def test_padding_and_the_next_sentence_end_a_phrase(lookup):
    texts = tf.constant([["they", "give"], ["up", ""], ["give", ""]])
    for x in lookup.phrases(texts):
        assert x.numpy().tolist() == [[0, 0]] * 3
    for shape in ([0, 0], [2, 0], [0, 3]):
        for x in lookup.phrases(tf.zeros(shape, tf.string)):
            assert x.shape == shape


def test_without_lemmas():
    lookup = PhraseLookup(SMALL, lemmas=False)
    assert not found(lookup, "gave up steam engines")
    assert len(found(lookup, "Give up to Steam engine")) == 2


def test_no_phrase_has_more_words():
    lookup = PhraseLookup(SMALL, max_words=2)
    assert found(lookup, "give up the ghost") == [("give up", "give up")]
    text = "one two three four five six"
    assert found(PhraseLookup(SMALL, max_words=9), text) == [(text, text)]
    with pytest.raises(ValueError, match="at least 2. Received: 1"):
        PhraseLookup(SMALL, max_words=1)


@pytest.mark.parametrize("parts", [{}, {"one": "n"}])
def test_a_dictionary_without_phrases(parts):
    lookup = PhraseLookup(make(parts))
    for x in lookup.phrases(tf.constant([["one", "one", ""]])):
        assert x.numpy().tolist() == [[0, 0, 0]]


def test_headwords_may_be_cut_as_texts_are():
    definitions = make(dict.fromkeys(["o'clock", "St. Patrick's Day"], "n"))
    words = ["St.", "Patrick", "'s", "Day", "."]
    for tokenizer, expected in (
        (None, [0] * 5),
        (Tokenizer(), [2, 2, 2, 2, 0]),
    ):
        lookup = PhraseLookup(definitions, tokenizer=tokenizer)
        entries, _ = lookup.phrases(tf.constant([words]))
        assert entries.numpy().tolist() == [expected]


def test_words_may_be_looked_up_on_their_own(lookup):
    text = tf.constant([["He", "gave", "up", "The", "City"], ["New", *"York"]])
    words, places = tf.unique(tf.reshape(text, [-1]))
    numbers = tf.gather(lookup.numbers(words), tf.reshape(places, text.shape))
    for x, y in zip(lookup.match(numbers), lookup.phrases(text)):
        assert x.numpy().tolist() == y.numpy().tolist()
    assert not lookup.numbers("").numpy().any()


@pytest.mark.long
def test_in_a_pipeline_and_in_a_saved_model(lookup, tmp_path):
    words = tf.constant([["He", "gave", "up"], ["Steam", "engines", ""]])
    expected = [x.numpy().tolist() for x in lookup.phrases(words)]
    dataset = tf.data.Dataset.from_tensors(words).map(lookup.phrases)
    assert [x.shape for x in dataset.element_spec] == [(2, 3)] * 2
    served = tf.Module()
    served.lookup = PhraseLookup(SMALL)
    served.serve = tf.function(
        served.lookup.phrases,
        input_signature=[tf.TensorSpec([None, None], tf.string)],
        autograph=False,
    )
    tf.saved_model.save(served, tmp_path / "1")
    del served
    loaded = tf.saved_model.load(tmp_path / "1")
    for pair in (next(iter(dataset)), loaded.serve(words)):
        assert [x.numpy().tolist() for x in pair] == expected


def test_overlapping_phrases_are_taken_from_the_left():
    lengths = tf.constant([[0, 3, 2, 2, 2, 0], [2, 2, 2, 2, 2, 0]])
    entries = tf.constant([[0, 7, 8, 9, 6, 0], [1, 2, 3, 4, 5, 0]])
    taken, positions = without_overlap(entries, lengths)
    assert taken.numpy().tolist() == [[0, 7, 7, 7, 6, 6], [1, 1, 3, 3, 5, 5]]
    assert positions.numpy().tolist() == [[0, 1, 2, 3, 1, 3], [1, 3] * 3]


# === Against the same in plain Python ===


def lemmas_of(form, place, phrases, definitions):
    """Lemmas that a first (0) or last (-1) word of phrases is."""
    ends = {}
    for words, entry in phrases.items():
        if all(word == word.lower() for word in words):
            parts = ends.setdefault(words[place], "")
            ends[words[place]] = parts + definitions.parts_of_speech[entry - 1]
    if form in definitions.lemmas:
        return [x for x in definitions.lemmas[form] if x in ends][:2]
    numbers = {word: i for i, word in enumerate(ends, start=1)}
    parts = dict(enumerate(ends.values(), start=1))
    return [[*ends][i - 1] for i in by_rule(numbers, parts, form)]


def by_hand(definitions, max_words, frequent, words):
    phrases = {
        tuple(w.split()): i
        for i, w in enumerate(definitions.headwords, start=1)
        if 2 <= len(w.split()) <= max_words and set(w.split()) - set(frequent)
    }

    def ways(span):
        lower = [word.lower() for word in span]
        yield span
        yield lower
        for x in lemmas_of(lower[0], 0, phrases, definitions):
            yield [x, *lower[1:]]
        for x in lemmas_of(lower[-1], -1, phrases, definitions):
            yield [*lower[:-1], x]

    def phrase_at(t):
        for n in range(max_words, 1, -1):
            for way in ways(words[t : t + n]) if t + n <= len(words) else ():
                if tuple(way) in phrases:
                    return n, phrases[tuple(way)]
        return 0, 0

    entries, positions, t = [0] * len(words), [0] * len(words), 0
    while t < len(words):
        n, entry = phrase_at(t)
        entries[t : t + n] = [entry] * n
        positions[t : t + n] = [1, *[2] * (n - 2), 3][:n]
        t += n or 1
    return entries, positions


TOKENS = st.builds(
    lambda stem, suffix, case: case(stem + suffix),
    st.sampled_from(["run", "mak", "box", "up", "é"]),
    st.sampled_from(["", "", "", "s", "e", "es", "ing"]),
    st.sampled_from([str, str, str, str.capitalize]),
)
HEADWORDS = st.lists(TOKENS, min_size=1, max_size=4).map(" ".join)


@settings(max_examples=60)
@given(st.data())
def test_agrees_with_plain_python(data):
    parts = data.draw(
        st.dictionaries(HEADWORDS, st.sampled_from("nva-"), max_size=12)
    )
    lemmas = data.draw(
        st.dictionaries(
            TOKENS.map(str.lower),
            st.lists(TOKENS, max_size=3).map(tuple),
            max_size=3,
        )
    )
    definitions = make(parts, lemmas)
    max_words = data.draw(st.integers(2, 4))
    frequent = data.draw(st.lists(TOKENS, max_size=3))
    # Texts of headwords, now and then in other forms.
    pieces = st.sampled_from([*parts, "up"]).map(str.split) | st.lists(
        TOKENS, max_size=3
    )
    texts = [
        [w for piece in data.draw(st.lists(pieces, max_size=5)) for w in piece]
        for _ in range(2)
    ]
    lookup = PhraseLookup(definitions, max_words=max_words, frequent=frequent)
    size = max(map(len, texts))
    padded = [text + [""] * (size - len(text)) for text in texts]
    words = tf.constant(padded, tf.string, shape=(2, size))
    entries, positions = lookup.phrases(words)
    for i, text in enumerate(padded):
        expected = by_hand(definitions, max_words, frequent, text)
        assert entries[i].numpy().tolist() == expected[0]
        assert positions[i].numpy().tolist() == expected[1]
