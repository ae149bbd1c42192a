import itertools

import numpy as np
import pytest
import tensorflow as tf

from tfcopy.data import SentencepieceTokenizer, train_sentencepiece
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.sampled_pieces import (
    BothCuttings,
    SampledPieces,
    sampled,
)

sentencepiece = pytest.importorskip("sentencepiece")

SENTENCES = [
    "The session of the parliament is open .",
    "The parliament opens the session again .",
    "Is the opening of a session an open session ?",
    "The president and the parliament open it .",
] * 3


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "pieces.model"
    train_sentencepiece.train(SENTENCES, 32, path, protect=["rst"])
    return SentencepieceTokenizer(str(path))


def cut(tokenizer, texts):
    rows = tokenizer.tokenize(tf.constant(texts)).to_list()
    return [[piece.decode() for piece in row] for row in rows]


def test_a_text_comes_back_however_it_is_cut(tokenizer):
    texts = ["The session, é 北京 🦄.", "", " a  b ", "x"]
    for epoch in range(5):
        drawn = SampledPieces(tokenizer, 0.1, epoch)
        pieces = drawn.tokenize(tf.constant(texts))
        found = [x.decode() for x in drawn.detokenize(pieces).numpy()]
        assert found == ["The session, é 北京 🦄.", "", "a b", "x"]


def test_a_large_power_gives_the_most_probable_pieces(tokenizer):
    texts = SENTENCES[:4]
    drawn = SampledPieces(tokenizer, 1e6)
    assert cut(drawn, texts) == cut(tokenizer, texts)


def test_each_epoch_cuts_otherwise_but_the_same_one_alike(tokenizer):
    texts = SENTENCES[:4]
    ways = [cut(SampledPieces(tokenizer, 0.1, e), texts) for e in range(8)]
    assert len({str(way) for way in ways}) > 4
    again = cut(SampledPieces(tokenizer, 0.1, 3), texts)
    assert again == ways[3]
    # Whatever is cut beside it.
    alone = [cut(SampledPieces(tokenizer, 0.1, 3), [x])[0] for x in texts]
    assert alone == ways[3]


def test_ways_are_drawn_by_their_probabilities(tmp_path):
    """Against all ways to cut a word, with their probabilities."""
    path = tmp_path / "pieces.model"
    train_sentencepiece.train(["ab aab abb", "ab b a"] * 9, 9, path)
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    scores = {model.id_to_piece(i): model.get_score(i) for i in range(3, 9)}
    text, alpha = "▁aabb", 0.5
    ways = {}
    for cuts in itertools.product((False, True), repeat=len(text) - 1):
        pieces = [text[0]]
        for letter, is_cut in zip(text[1:], cuts):
            if is_cut:
                pieces.append(letter)
            else:
                pieces[-1] += letter
        if all(piece in scores for piece in pieces):
            total = sum(scores[piece] for piece in pieces)
            ways[tuple(pieces)] = np.exp(alpha * total)
    assert 2 < len(ways) < 64
    tokenizer = SentencepieceTokenizer(str(path))
    num_draws = 3_000
    counts = dict.fromkeys(ways, 0)
    for epoch in range(num_draws):
        drawn = SampledPieces(tokenizer, alpha, epoch)._draw("aabb")
        counts[tuple(drawn)] += 1
    total = sum(ways.values())
    for way, weight in ways.items():
        share = weight / total
        error = np.sqrt(share * (1 - share) / num_draws)
        assert abs(counts[way] / num_draws - share) < 5 * error


def test_protected_spans_stay_whole(tokenizer):
    protected = ProtectedTokenizer(tokenizer, ("rst",))
    text = "The session opens :func:`ast.parse` again ."
    for epoch in range(3):
        (pieces,) = cut(sampled(protected, 0.1, epoch), [text])
        assert ":func:`ast.parse`" in pieces


def test_both_cuttings_have_the_tokens_of_both(tokenizer):
    drawn = SampledPieces(tokenizer, 0.1)
    texts = SENTENCES[:2]
    expected = [x + y for x, y in zip(cut(tokenizer, texts), cut(drawn, texts))]
    assert cut(BothCuttings(tokenizer, drawn), texts) == expected


def test_models_without_probabilities_are_refused(tmp_path):
    path = tmp_path / "pieces.model"
    train_sentencepiece.train(SENTENCES, 45, path, model_type="bpe")
    with pytest.raises(ValueError, match="pieces.model: not a unigram model"):
        SampledPieces(SentencepieceTokenizer(str(path)), 0.1)
