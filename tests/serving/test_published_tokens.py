"""A source is cut as its checkpoint's own tokenizer cuts it, spans in place."""

import json

import pytest
import sentencepiece
import tensorflow as tf

from tests.serving import checkpoints
from tfcopy.serving import published_tokens
from tfcopy.tokens import SPECIAL_TOKENS

TEXTS = [
    "The session of the parliament is open.",
    "Open %s of the session, {x}…%d%d!",
    "%s",
    "a  %s\u00a0b\u2009{x}\u200b",
    "½ ﬁ {ﬁ x½} é",
    "",
    " \u00a0 ",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return checkpoints.write_tokens(tmp_path_factory.mktemp("tokens"))


def read(folder, tmp_path, language=None, protect=(), **config):
    """`PublishedTokens`, and the tokenizers and vocabularies of both sides."""
    size = len(json.loads((folder / "vocab.json").read_text()))
    config = {
        **checkpoints.MARIAN,
        **{"vocab_size": size, "pad_token_id": size - 1},
        **{"decoder_start_token_id": size - 1, **config},
    }
    tokens = published_tokens.read(folder, config, None, language)
    return tokens, *tokens.make(tmp_path, protect)


def rows_of(made, texts, side=0):
    """The rows of the checkpoint for the tokens of texts."""
    tokens, tokenizers, vocabularies = made
    tokenizer, vocabulary = tokenizers[side], vocabularies[side]
    cut = tokenizer.fold(tokenizer.tokenize(tf.constant(texts)))
    others = set(range(len(tokens.pieces[side]))) - {*tokens.special_ids}
    rows = [*tokens.special_ids, *sorted(others)]
    assert vocabulary.size == len(rows)
    return [[rows[x] for x in row] for row in vocabulary.lookup(cut).to_list()]


@pytest.mark.parametrize("protect", [(), ("printf", "brace")])
def test_ids_are_those_of_the_model_itself(protect, folder, tmp_path):
    model = sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "source.spm")
    )
    ids = json.loads((folder / "vocab.json").read_text())
    expected = [
        [ids.get(x, ids["<unk>"]) for x in model.encode(text, out_type=str)]
        for text in TEXTS
    ]
    assert rows_of(read(folder, tmp_path, protect=protect), TEXTS) == expected


def test_spans_come_back_to_the_letter(folder, tmp_path):
    """Whatever normalisation does to them; elsewhere it is the model's."""
    source, target = read(folder, tmp_path, protect=("{[^}]*}",))[1]
    cut = source.tokenize(tf.constant(["½ {ﬁ\u00a0½…}\u3000{Ａ}"]))
    (text,) = target.detokenize(cut).numpy()
    assert text.decode() == "1⁄2 {ﬁ\u00a0½…} {Ａ}"
    needed = source.mark_needed(cut).to_list()[0]
    assert needed.count(1) == 2 and 3 in needed


def test_a_piece_over_two_spans_makes_one_run(folder, tmp_path):
    source, target = read(folder, tmp_path, protect=("is o|pen",))[1]
    cut = source.tokenize(tf.constant(["session is open"]))
    assert source.mark_needed(cut).to_list()[0].count(1) == 1
    assert target.detokenize(cut).numpy() == [b"session is open"]


def test_an_answer_keeps_the_blank_before_a_span_that_began_a_source(
    folder, tmp_path
):
    source, target = read(folder, tmp_path, protect=("par.*t",))[1]
    span = source.tokenize(tf.constant(["parliament"]))[0].numpy().tolist()
    assert span[0].startswith("\x05▁p".encode())
    answer = tf.ragged.constant([["▁the".encode(), *span, b"!"], span])
    found = target.detokenize(answer).numpy().tolist()
    assert found == [b"the parliament!", b"parliament"]


def test_no_letter_is_beside_a_term(folder, tmp_path):
    target = read(folder, tmp_path, protect=("printf",))[1][1]
    (term,) = target.tokenize_terms(tf.ragged.constant([["50 %"]])).to_list()
    answer = tf.ragged.constant([[*term, b"s"], [*term, b"."], [*term, *term]])
    found = target.detokenize(answer).numpy().tolist()
    assert found == [b"50 % s", b"50 %.", b"50 % 50 %"]


def test_a_language_is_the_first_token(tmp_path):
    folder = checkpoints.write_tokens(tmp_path, [">>fra<<", ">>deu<<"])
    ids = json.loads((folder / "vocab.json").read_text())
    rows = rows_of(read(folder, tmp_path, "deu"), ["open", ""])
    assert rows[0][0] == ids[">>deu<<"] and rows[1] == []
    for language in (None, "xyz"):
        with pytest.raises(ValueError, match="one of deu, fra. Received"):
            read(folder, tmp_path, language)


def test_a_single_language_is_no_token(folder, tmp_path):
    tokens = (read(folder, tmp_path, x)[0] for x in ("fr", None))
    assert {x.prefix for x in tokens} == {""}


KINDS = {
    "M2M100": ("en", "fr", 45 + 18, 45 + 24),
    "SMALL100": ("en", "fr", 45 + 18, 45 + 24),
    "NLLB": ("eng_Latn", "fra_Latn", 46 + 1, 46 + 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_of_languages_is_chosen(kind, tmp_path):
    config, _ = checkpoints.write_m2m_100(tmp_path, kind)
    source, target, *rows = KINDS[kind]
    tokens = published_tokens.read(tmp_path, config, source, target)
    made = tokens, *tokens.make(tmp_path, ("printf",))
    path = tmp_path / "sentencepiece.bpe.model"
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    # After `<unk>`, `<s>` and `</s>`, pieces are one row further.
    ids = [[x + 1 if x else 3 for x in model.encode(text)] for text in TEXTS]
    if kind != "NLLB":  # its vocabulary lacks the last piece
        ids = [[3 if x == len(model) else x for x in row] for row in ids]
    is_small = kind == "SMALL100"
    assert rows_of(made, TEXTS, 1) == ids
    expected = [[rows[is_small], *x] if x else [] for x in ids]
    assert rows_of(made, TEXTS) == expected
    last = (2, None) if is_small else (rows[1], 2)
    assert (tokens.special_ids[2], tokens.start) == last
    wrong = {(source, None): "target", (source, "xx"): "target"}
    if not is_small:
        wrong |= {("xx", target): "source", (target, target): "source"}
    for pair, side in wrong.items():
        with pytest.raises(ValueError, match=f"--{side}.*of .*{source}.* Rec"):
            published_tokens.read(tmp_path, config, *pair)


def test_the_published_languages_of_nllb(tmp_path):
    config, _ = checkpoints.write_m2m_100(tmp_path, "NLLB", vocab_size=248)
    pair = "eng_Latn", "zul_Latn"
    added = [None, *({"id": 48, "content": x} for x in pair)]
    (tmp_path / "tokenizer.json").write_text(
        json.dumps({"added_tokens": added})
    )
    with pytest.raises(ValueError, match="zul_Latn after .* alone. Rec"):
        published_tokens.read(tmp_path, config, *pair)
    (tmp_path / "tokenizer.json").unlink()
    tokens = published_tokens.read(tmp_path, config, *pair)
    assert tokens.special_ids == (1, 3, 46 + 201, 2)
    with pytest.raises(ValueError, match="language zul_Latn after 46 pieces"):
        published_tokens.read(tmp_path, {**config, "vocab_size": 247}, *pair)
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text('{"legacy_behaviour": true}')
    with pytest.raises(ValueError, match="no legacy_behaviour"):
        published_tokens.read(tmp_path, config, *pair)


def test_pieces_that_are_no_words_of_a_file_are_rows(tmp_path):
    folder = checkpoints.write_tokens(tmp_path, ["a b", "x\n", "<s>"])
    words = read(folder, tmp_path)[2][0].words
    assert words[:4] == SPECIAL_TOKENS
    assert {"<row2>", "<row3>", "<row4>"} <= {*words}


@pytest.mark.parametrize(
    "name, content, reason",
    [
        ("vocab.json", {"</s>": 0, "<unk>": 1, "a": 3, "<pad>": 4}, "2 is nob"),
        ("vocab.json", {"</s>": 0, "<unk>": 1, "a": 1, "<pad>": 2}, "4 ids"),
        ("vocab.json", {"</s>": 0, "b": 1, "a": 2, "<pad>": 3}, "no <unk>"),
        ("vocab.json", {"a": 0, "<unk>": 1, "<pad>": 2}, "expected </s> at 0"),
        ("vocab.json", {"</s>": 0, "<unk>": 1, "a": 2}, "expected <pad> at 2"),
        ("vocab.json", {"</s>": "0"}, "must be an integer"),
        ("vocab.json", [1], "no object but list"),
        ("source.spm", "nothing", "not a model of SentencePiece"),
    ],
)
def test_what_does_not_fit_is_named(name, content, reason, tmp_path):
    folder = checkpoints.write_tokens(tmp_path)
    size = len(json.loads((folder / "vocab.json").read_text()))
    if name == "vocab.json":
        size = len(content) + ("2 is" in reason)
    (folder / name).write_text(json.dumps(content))
    ids = {"pad_token_id": size - 1, "vocab_size": size}
    with pytest.raises(ValueError, match=reason) as error:
        read(folder, tmp_path, **ids)
    assert str(folder / name) in str(error.value)
