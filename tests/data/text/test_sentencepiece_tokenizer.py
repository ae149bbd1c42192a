import gzip
import itertools
import os

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.servables.translators import NAMES
from tfcopy.data import SentencepieceTokenizer, train_sentencepiece
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.sentencepiece_tokenizer import (
    BothCuttings,
    SampledPieces,
    sample_subwords,
)

sentencepiece = pytest.importorskip("sentencepiece")

SENTENCES = [
    "The session of the parliament is open .",
    "The parliament opens the session again .",
    "Is the opening of a session an open session ?",
    "The president and the parliament open it .",
] * 3


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "pieces.model"
    train_sentencepiece.train(SENTENCES, 45, path, model_type="bpe")
    return str(path)


def words(ragged):
    return [[word.decode() for word in row] for row in ragged.to_list()]


def text_of(strings):
    return [text.decode() for text in strings.numpy()]


@pytest.mark.parametrize("model_type, size", [("unigram", 32), ("bpe", 45)])
def test_text_comes_back_as_it_was_typed(tmp_path, model_type, size):
    path = tmp_path / "pieces.model"
    train_sentencepiece.train(SENTENCES, size, path, model_type=model_type)
    tokenizer = SentencepieceTokenizer(str(path))
    texts = [*SENTENCES[:4], *(f"The {name}, x-{name}." for name in NAMES)]
    pieces = tokenizer.tokenize(tf.constant(texts))
    first = words(pieces)[0]
    assert len(first) < len(texts[0])
    assert "".join(first) == "▁" + texts[0].replace(" ", "▁")
    assert text_of(tokenizer.detokenize(pieces)) == texts


def test_blanks_are_those_of_the_other_tokenizers(model_file):
    tokenizer = SentencepieceTokenizer(model_file)
    texts = ["", " \t\0", "\u2003a  b\x01c\n", b"\xff", "▁ a"]
    pieces = tokenizer.tokenize(tf.constant(texts))
    assert pieces.row_lengths().numpy().tolist()[:2] == [0, 0]
    found = text_of(tokenizer.detokenize(pieces))
    assert found[:4] == ["", "", "a b c", "\ufffd"]
    assert all(word for row in words(pieces) for word in row)


@pytest.mark.parametrize("options", [{}, {"protect": ("printf",)}])
def test_blanks_that_carry_meaning_are_kept_if_the_model_has_them(
    tmp_path, options
):
    path = str(tmp_path / "pieces.model")
    texts = ["Erreur\u00a0: oui", "a\u00a0\u00a0b", "ត្រូវ\u200bតែ\u200bហៅ"]
    train_sentencepiece.train(
        texts * 9, 40, path, hard_vocab_limit=False, **options
    )
    tokenizer = SentencepieceTokenizer(path)
    assert tokenizer.blanks == "\u00a0\u200b"
    for cut in (tokenizer, SampledPieces(tokenizer, 0.1)):
        pieces = cut.tokenize(tf.constant([*texts, "a\u202f\u3000b"]))
        assert text_of(cut.detokenize(pieces)) == [*texts, "a b"]
    # As files of earlier runs, and models that a vocabulary does not know.
    plain = SentencepieceTokenizer(path, keeps="")
    pieces = plain.tokenize(tf.constant(texts[:2]))
    assert text_of(plain.detokenize(pieces)) == ["Erreur : oui", "a b"]
    assert f"{plain.fingerprint}-a0-200b" == tokenizer.fingerprint


def test_pieces_of_another_model_are_written_as_well(model_file):
    tokenizer = SentencepieceTokenizer(model_file)
    pieces = tf.ragged.constant([["▁session", "▁Foo", "Bar"], ["▁Foo"], []])
    assert text_of(tokenizer.detokenize(pieces)) == [
        "session FooBar",
        "Foo",
        "",
    ]


def test_a_new_seed_harms_no_graph(model_file):
    """It clears TensorFlow's caches, and with them resources of no graph."""
    tokenizer = SentencepieceTokenizer(model_file)

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    def same(text):
        return tokenizer.detokenize(tokenizer.tokenize(text))

    for seed in range(2):
        tf.random.set_seed(seed)
        assert text_of(same(tf.constant(["Open it"]))) == ["Open it"]


def test_the_fingerprint_is_of_the_model(model_file, tmp_path):
    first = SentencepieceTokenizer(model_file)
    copy = tmp_path / "copy.model"
    copy.write_bytes(first.model)
    assert SentencepieceTokenizer(str(copy)).fingerprint == first.fingerprint
    train_sentencepiece.train(SENTENCES, 40, copy, model_type="bpe")
    assert SentencepieceTokenizer(str(copy)).fingerprint != first.fingerprint


def test_merges_are_counted_beside_the_characters(tmp_path):
    path = tmp_path / "pieces.model"
    train_sentencepiece.train_bpe(SENTENCES, 7, path)
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
    assert sum(len(piece) > 1 for piece in pieces) == 7
    characters = {c for line in SENTENCES for c in line.replace(" ", "▁")}
    assert {piece for piece in pieces if len(piece) == 1} == characters
    with pytest.raises(ValueError, match=r"has \d+ merges only") as error:
        train_sentencepiece.train_bpe(SENTENCES, 9_999, path)
    most = int(str(error.value).split("has ")[1].split()[0])
    train_sentencepiece.train_bpe(SENTENCES, most, path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "text.model"
    path.write_text("The session is open .")
    with pytest.raises(ValueError, match="text.model: not a model of"):
        SentencepieceTokenizer(str(path)).tokenize(tf.constant(["a"]))
    with pytest.raises(FileNotFoundError, match="none.model"):
        SentencepieceTokenizer("none.model").tokenize(tf.constant(["a"]))


def test_the_command_reads_several_files(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("\n".join(SENTENCES))
    with gzip.open(tmp_path / "b.gz", "wb") as file:
        file.write("\n".join(SENTENCES).encode() + b"\nx\xff \n\n")
    target = tmp_path / "pieces.model"
    inputs = ["--input", str(tmp_path / "a.txt"), str(tmp_path / "b.gz")]

    def run(*arguments):
        status = train_sentencepiece.main([*arguments, "--output", str(target)])
        return status, capsys.readouterr()

    status, (output, _) = run(*inputs, "--vocab_size", "32")
    assert (status, output) == (0, f"{target}: 32 pieces\n")
    assert SentencepieceTokenizer(str(target)).fingerprint
    status, (output, _) = run(*inputs, "--merges", "9")
    assert (status, output) == (0, f"{target}: 9 merges\n")
    status, (_, error) = run(*inputs, "--vocab_size", "9999")
    assert status == 2 and "9999 pieces" in error and "too high" in error
    before = target.read_bytes()
    status, (_, error) = run(*inputs, str(target))
    assert status == 2 and target.read_bytes() == before
    assert f"--output: {target} is the file of --input as well" in error
    for pattern in ("(", "x*"):
        status, (_, error) = run(*inputs, "--protect", "rst", pattern)
        assert status == 2 and target.read_bytes() == before
        assert error.startswith(f"train_sentencepiece: --protect: {pattern!r} ")
        assert error.count("\n") == 1
    status, (_, error) = run("--input", str(tmp_path / "none"))
    assert status == 2 and "none" in error
    whole = (tmp_path / "b.gz").read_bytes()
    (tmp_path / "b.gz").write_bytes(whole[: len(whole) // 2])
    for flags in ([], ["--merges", "9"]):
        status, (output, error) = run(*inputs, *flags)
        assert (status, output) == (2, "")
        assert f"{tmp_path}/b.gz: the gzip data is damaged" in error
        assert error.count("\n") == 1


def test_the_command_reads_pipes(tmp_path, capsys):
    reading, writing = os.pipe()
    with open(writing, "w") as file:
        file.write("\n".join(SENTENCES))
    target = tmp_path / "pieces.model"
    arguments = ["--input", f"/dev/fd/{reading}", "--vocab_size=32"]
    status = train_sentencepiece.main([*arguments, "--output", str(target)])
    os.close(reading)
    assert status == 0 and target.exists()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "pieces.model"
    train_sentencepiece.train(SENTENCES, 32, path, protect=["rst"])
    return SentencepieceTokenizer(str(path))


def cut(tokenizer, texts):
    return words(tokenizer.tokenize(tf.constant(texts)))


def test_a_text_comes_back_however_it_is_cut(tokenizer):
    texts = ["The session, é 北京 🦄.", "", " a  b ", "x"]
    for epoch in range(5):
        drawn = SampledPieces(tokenizer, 0.1, epoch)
        pieces = drawn.tokenize(tf.constant(texts))
        found = [x.decode() for x in drawn.detokenize(pieces).numpy()]
        assert found == ["The session, é 北京 🦄.", "", "a b", "x"]


def test_a_large_power_gives_the_most_probable_pieces(tokenizer):
    texts = SENTENCES[:4]
    assert cut(SampledPieces(tokenizer, 1e6), texts) == cut(tokenizer, texts)


def test_each_epoch_cuts_otherwise_but_the_same_one_alike(tokenizer):
    texts = SENTENCES[:4]
    ways = [cut(SampledPieces(tokenizer, 0.1, e), texts) for e in range(8)]
    assert len({str(way) for way in ways}) > 4
    assert cut(SampledPieces(tokenizer, 0.1, 3), texts) == ways[3]
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
        counts[tuple(SampledPieces(tokenizer, alpha, epoch)._draw("aabb"))] += 1
    total = sum(ways.values())
    for way, weight in ways.items():
        share = weight / total
        error = np.sqrt(share * (1 - share) / num_draws)
        assert abs(counts[way] / num_draws - share) < 5 * error


def test_protected_spans_stay_whole(tokenizer):
    protected = ProtectedTokenizer(tokenizer, ("rst",))
    text = "The session opens :func:`ast.parse` again ."
    for epoch in range(3):
        (pieces,) = cut(sample_subwords(protected, 0.1, epoch), [text])
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
