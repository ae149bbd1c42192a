import numpy as np
import pytest

from tfcopy.data import SentencepieceTokenizer, train_sentencepiece
from tfcopy.data.pairs.encoding import SampledCuttings, encode
from tfcopy.data.text import sentencepiece_tokenizer, vocabulary

pytest.importorskip("sentencepiece")

PAIRS = [
    ("The session of the parliament is open .", "La séance est ouverte ."),
    ("The parliament opens the session again .", "Le parlement rouvre ."),
    ("Is the opening of a session an open session ?", "Est-ce ouvert ?"),
    ("The president and the parliament open it .", "Le président ouvre ."),
]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Vocabularies and tokenizers."""
    path = tmp_path_factory.mktemp("pieces") / "pieces.model"
    texts = [text for pair in PAIRS * 3 for text in pair]
    train_sentencepiece.train(texts, 50, path)
    cutters = (SentencepieceTokenizer(str(path)),) * 2
    both = [
        sentencepiece_tokenizer.BothCuttings(
            x, sentencepiece_tokenizer.sample_subwords(x, 0.1)
        )
        for x in cutters
    ]
    counts = vocabulary.count_words(PAIRS, both, progress=False)
    return tuple(vocabulary.Vocabulary.build(x, 99) for x in counts), cutters


def make(parts, max_length=60):
    return SampledCuttings(PAIRS, *parts, 0.1, max_length, progress=False)


def texts_of(encoded, words):
    """The sources that ids spell."""
    rows = np.split(encoded.source_ids, encoded.source_splits[1:-1])
    pieces = [[words.words[i] for i in row[:-1]] for row in rows]
    return ["".join(row).replace("▁", " ").strip() for row in pieces]


@pytest.mark.long
def test_each_epoch_has_the_same_texts_and_other_pieces(parts):
    cuttings = make(parts)
    epochs = [cuttings(epoch) for epoch in range(6)]
    assert len({epoch.checksum for epoch in epochs}) > 3
    for encoded in epochs:
        assert len(encoded) == len(PAIRS)
        spelt = texts_of(encoded, parts[0][0])
        # A piece that was counted in no epoch is unknown.
        exact = [x == y for x, (y, _) in zip(spelt, PAIRS) if "<unk>" not in x]
        assert all(exact)
    assert any(
        texts_of(encoded, parts[0][0]) == [x for x, _ in PAIRS]
        for encoded in epochs
    )


def test_an_epoch_is_the_same_whenever_it_comes(parts):
    cuttings = make(parts)
    first = cuttings(2).checksum
    cuttings(3)
    assert cuttings(2).checksum == first == make(parts)(2).checksum
    assert cuttings(3) is cuttings(3)


def test_no_pair_is_longer_than_it_says(parts):
    lengths = make(parts)(0).source_lengths
    cuttings = make(parts, max_length=int(np.median(lengths)) - 1)
    epochs = [cuttings(epoch) for epoch in range(4)]
    assert any(encoded.num_too_long for encoded in epochs)
    for encoded in epochs:
        assert encoded.source_lengths.max() <= cuttings.longest[0]
        assert encoded.target_lengths.max() <= cuttings.longest[1]


def test_a_corpus_knows_its_epochs(parts):
    plain = encode(
        PAIRS,
        *parts[0],
        source_tokenizer=parts[1][0],
        target_tokenizer=parts[1][1],
        progress=False,
    )
    assert plain.select_epoch(3) is plain
    assert plain.longest[0] == plain.source_lengths.max()
    assert plain.longest[1] == plain.target_lengths.max()
