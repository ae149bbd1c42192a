import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data import train_sentencepiece
from tfcopy.data.text import readable_text as module
from tfcopy.data.text.readable_text import readable_text
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import LANGUAGES, MODES, Tokenizer

TOKENIZERS = [Tokenizer(x, y) for x in MODES for y in LANGUAGES]
# What is cut otherwise if it ends elsewhere.
PARTS = [
    *("Mr. ", "No. 5", "a-b", "(c)", "d(e)f", "U.S.A. ", "don't", "l'eau", "x"),
    *("https://a.b/c?d.", "<unk>", ":-)", "1,000", ". a", "...", "'s ", " ' "),
    *(
        "北京。",
        "👩‍👩‍👧",
        "🇫🇷",
        "e\u0301",
        "\u00a0",
        " ▁ ",
        "\x01",
        "  ",
        "and/or",
    ),
]
texts = st.lists(
    st.lists(st.sampled_from(PARTS) | st.binary(max_size=3), max_size=30).map(
        lambda parts: b"".join(
            x if isinstance(x, bytes) else x.encode() for x in parts
        )
    ),
    min_size=1,
    max_size=3,
)


def check(tokenizer, texts, count):
    """The first tokens stay; returns how many bytes were left out."""
    text = tf.constant(texts)
    read = readable_text(text, tokenizer, count)
    found, expected = (
        tokenizer.tokenize(x)[:, :count].to_list() for x in (read, text)
    )
    assert found == expected
    read = read.numpy().tolist()
    assert all(x.startswith(y) for x, y in zip(texts, read))
    return sum(map(len, texts)) - sum(map(len, read))


@pytest.fixture
def tiny_steps(monkeypatch):
    """Texts are cut off early, and read further in small steps."""
    monkeypatch.setattr(module, "_BYTES", 1)
    monkeypatch.setattr(module, "_GROWTH", 2)


@pytest.mark.long
@pytest.mark.usefixtures("tiny_steps")
def test_the_first_tokens_are_those_of_the_whole_text():
    @settings(max_examples=150)
    @given(st.sampled_from(TOKENIZERS), texts, st.integers(1, 6))
    def test(tokenizer, texts, count):
        check(tokenizer, texts, count)

    test()
    assert check(Tokenizer(), [b"a " * 99, b"a-b"], 3) > 150


@pytest.mark.usefixtures("tiny_steps")
def test_the_first_pieces_are_those_of_the_whole_text(tmp_path):
    pytest.importorskip("sentencepiece")
    lines = [" ".join(x.strip() for x in PARTS[i:]) for i in range(9)] * 3
    path = tmp_path / "pieces.model"
    train_sentencepiece.train(lines, 90, path, hard_vocab_limit=False)
    tokenizer = SentencepieceTokenizer(str(path))

    @settings(max_examples=30)
    @given(texts, st.integers(1, 6))
    def test(texts, count):
        check(tokenizer, texts, count)

    test()
    assert check(tokenizer, [b"a " * 99, b"a-b"], 3) > 120


def test_texts_that_are_not_long_stay_as_they_are():
    texts = [b"a " * 300, b"", b" " * 500]
    assert check(Tokenizer(), texts, 3) == 0
    empty = readable_text(tf.zeros([0], tf.string), Tokenizer(), 3)
    assert empty.shape == [0]
