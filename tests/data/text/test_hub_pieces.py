import numpy as np
import pytest
import tensorflow as tf

from tests.data.text import hub_tokenizers
from tests.serving.servables.translators import NAMES
from tfcopy.data import encode_pairs, hub_pieces
from tfcopy.data.text.byte_pair_tokenizer import spell_piece
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.tokens import EOS, NO_COPY

pytest.importorskip("sentencepiece")

TEXTS = [
    *hub_tokenizers.SENTENCES[:4],
    *(f"The {name}, x-{name}." for name in NAMES),
    "we'LL don't 12,345 a▁b <s> <0xE2> <mask> a@b.c/d?e=f",
    "x" * 300,
    "",
]


@pytest.fixture(scope="module")
def trained():
    return hub_tokenizers.byte_pairs()


KINDS = ("bart", "t5", "t5gemma", "gpt2", "gemma")


@pytest.fixture(scope="module", params=KINDS)
def hub(request, trained):
    if request.param == "bart":
        return hub_tokenizers.bart_tokenizer(trained)
    return hub_tokenizers.TOKENIZERS[request.param]()


@pytest.fixture(scope="module")
def pieces(hub, tmp_path_factory):
    return hub_pieces(hub, tmp_path_factory.mktemp("pieces"))


def is_bart(hub):
    return type(hub).__name__.startswith("Bart")


def has_unknown(pieces):
    """Returns whether some characters have no piece (T5, a small Gemma)."""
    is_sentencepiece = type(pieces.tokenizer).__name__.startswith("Sentence")
    return is_sentencepiece and "<0x00>" not in pieces.vocabulary.words


def words(ragged):
    return [[word.decode() for word in row] for row in ragged.to_list()]


def own_ids(pieces, tokens):
    """The publisher's ids of our tokens."""
    others = np.setdiff1d(range(9999), pieces.special_ids)
    rows = np.concatenate([pieces.special_ids, others])
    return [rows[pieces.vocabulary.lookup(row)].tolist() for row in tokens]


def test_byte_pairs_are_those_of_their_publisher(trained, tmp_path):
    pieces = hub_pieces(hub_tokenizers.bart_tokenizer(trained), tmp_path)
    texts = [x for x in TEXTS if "<s>" not in x and len(x) < 200]
    expected = [x.ids for x in trained.encode_batch(texts)]
    found = own_ids(pieces, pieces.tokenizer.tokenize(tf.constant(texts)))
    # Ours begin with the start symbol, which HuggingFace adds afterwards.
    assert found == [[0, *ids] if ids else [] for ids in expected]


@pytest.mark.long
def test_ids_are_those_of_keras_hub(hub, pieces):
    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    def of_hub(text):
        return hub(text)

    texts = hub_tokenizers.SENTENCES[:4]
    expected = of_hub(tf.constant(texts)).to_list()
    found = own_ids(pieces, pieces.tokenizer.tokenize(tf.constant(texts)))
    start = [0] if is_bart(hub) else []
    assert found == [[*start, *ids] for ids in expected]


def test_text_comes_back(pieces):
    tokens = pieces.tokenizer.tokenize(tf.constant(TEXTS))
    texts = [x.decode() for x in pieces.tokenizer.detokenize(tokens).numpy()]
    assert words(tokens)[-1] == []
    if has_unknown(pieces):  # It normalises text.
        assert texts[:4] == TEXTS[:4]
    elif type(pieces.tokenizer).__name__.startswith("Sentence"):
        # It spells its blanks like this.
        assert texts == [x.replace("▁", " ") for x in TEXTS]
    else:
        assert texts == TEXTS
    first = words(tokens)[0]
    assert any(piece.startswith("▁") for piece in first)
    assert len(first) < len(TEXTS[0])


def test_the_vocabulary_holds_the_pieces_in_their_order(hub, pieces):
    size = len(hub.get_vocabulary())
    assert pieces.vocabulary.size == size + 4 - len(set(pieces.special_ids))
    name = type(hub).__name__.removesuffix("Tokenizer")
    expected = {
        "Bart": (1, 3, 2, 2),
        "T5": (0, 2, 0, 1),
        "GPT2": (size - 1,) * 4,
        "T5Gemma": (0, 3, 2, 1),
        "Gemma": (0, 3, 2, 1),
    }
    assert pieces.special_ids == expected[name]
    if name == "Bart":
        assert pieces.vocabulary.words[4:6] == ("⟨s⟩", "<mask>")
    if name == "GPT2":  # KerasHub pads with it, but it is a word.
        assert pieces.vocabulary.words[4] == spell_piece(hub.id_to_token(0))
    if name == "T5Gemma":
        assert pieces.vocabulary.words[4:6] == ("<0x00>", "<0x01>")


def test_pieces_that_the_source_has_can_be_copied(pieces):
    tokenizer, vocabulary = pieces.tokenizer, pieces.vocabulary
    source, target = (
        tokenizer.tokenize(tf.constant([text]))
        for text in ("The session of 北京 is open.", "of 北京")
    )
    encoded = encode_pairs(source, target, vocabulary, vocabulary)
    source_ids, target_ids = (
        encoded[name].to_list()[0] for name in ("source_copy_ids", "target_ids")
    )
    assert source_ids[-1] == NO_COPY and target_ids[-1] == EOS
    # "of" may be another piece where a text begins.
    assert set(target_ids[-3:-1]) <= set(source_ids)
    if has_unknown(pieces):  # Bytes know every character.
        assert target_ids[-2] >= vocabulary.size


def test_a_span_is_one_token(pieces):
    tokenizer = ProtectedTokenizer(pieces.tokenizer, ("placeholders",))
    text = "The %s session {x}is %d."
    tokens = tokenizer.tokenize(tf.constant([text]))
    assert {"%s", "{x}", "%d"} < {*words(tokens)[0]}
    assert tokenizer.detokenize(tokens).numpy()[0].decode() == text


def test_spellings_are_different():
    pieces = ["Ġthe", "the", "ĠKÃ¶ln", "âĸ", "âĸģ", "Ċ", "Ġ", "<0xE2>", "ĠĠ"]
    assert [spell_piece(piece) for piece in pieces] == [
        *("▁the", "the", "▁Köln", "<0xE2><0x96>", "<0xE2><0x96><0x81>"),
        *("<0x0A>", "▁", "<0x3C><0x30><0x78><0x45><0x32><0x3E>", "▁▁"),
    ]


def test_other_bytes_are_written_as_they_are(trained, tmp_path):
    tokenizer = hub_pieces(
        hub_tokenizers.bart_tokenizer(trained), tmp_path
    ).tokenizer
    rows = [["⟨s⟩", "▁K", "<0xC3>", "<0xB6>", "ln"], ["a", "<0xC3>"], []]
    text = tokenizer.detokenize(tf.ragged.constant(rows))
    assert [x.decode() for x in text.numpy()] == ["Köln", "a\ufffd", ""]


def test_other_tokenizers_are_refused(tmp_path):
    import keras_hub

    other = keras_hub.tokenizers.WordPieceTokenizer(["[UNK]", "a"])
    with pytest.raises(ValueError, match="byte pairs or of SentencePiece"):
        hub_pieces(other, tmp_path)
