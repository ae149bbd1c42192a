import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.corpora import corpus_files
from tfcopy.data import Tokenizer
from tfcopy.data.corpora import lcsts
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.corpora.lcsts import read_records
from tfcopy.terminal import one_line

# Score, short text, summary.
TRAIN = [
    (None, "北京 & 上海 <b> 很大，真的。", "北京很大"),
    (None, "我来到北京清华大学", "在清华大学"),
]
SCORED = [(score, f"第{score}个", f"{score}分") for score in (1, 2, 3, 4, 5)]
NAMES = {"train": "PART_I", "validation": "PART_II", "test": "PART_III"}


def record(score, text, summary, number=0, margin="    "):
    label = f"{margin}<human_label>{score}</human_label>\n" if score else ""
    return (
        f"<doc id={number}>\n{label}"
        f"{margin}<summary>\n{2 * margin}{summary}\n{margin}</summary>\n"
        f"{margin}<short_text>\n{2 * margin}{text}\n{margin}</short_text>\n"
        "</doc>\n"
    )


def content(records, **options):
    return "".join(record(*x, i, **options) for i, x in enumerate(records))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "PART_I.txt").write_text(content(TRAIN), "utf-8")
    for name in ("PART_II", "PART_III"):
        (tmp_path / f"{name}.txt").write_text(content(SCORED), "utf-8")
    return tmp_path


def load(folder, **options):
    """The corpus, without the warnings that it is so small."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lcsts.load(folder, **options)


def pairs(records):
    return [(text, summary) for _, text, summary in records]


# === What is read ===


def test_parts_are_splits_and_scores_choose(folder):
    corpus = load(folder)
    for _ in range(2):
        assert list(corpus.train) == pairs(TRAIN)
        assert list(corpus.validation) == pairs(SCORED[2:])
    assert list(corpus.test) == pairs(SCORED[2:])
    assert list(load(folder, min_score=5).test) == pairs(SCORED[4:])
    assert len(list(load(folder, min_score=1).validation)) == 5
    assert corpus.test.num_pairs == 3 and corpus.test.num_skipped == 0
    assert (corpus.source_language, corpus.target_language) == ("zh", "zh")
    assert not corpus.tokenized and not corpus.generated


@pytest.mark.parametrize(
    "place", ["{0}.txt", "DATA/{0}.txt", "{0}/{0}.txt", "DATA/{0}/{0}.txt"]
)
def test_parts_may_be_nested(folder, place):
    expected = load(folder)
    for name in NAMES.values():
        path = folder / "other" / place.format(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").rename(path)
    corpus = load(folder / "other")
    assert corpus.fingerprint == expected.fingerprint
    assert list(corpus.train) == pairs(TRAIN)


def test_part_one_may_be_called_full(folder):
    (folder / "PART_I").mkdir()
    (folder / "PART_I.txt").rename(folder / "PART_I" / "PART_full.txt")
    assert list(load(folder).train) == pairs(TRAIN)


def test_the_first_line_may_be_damaged(folder):
    path = folder / "PART_I.txt"
    whole = path.read_text("utf-8")
    for first in ("doc id=0>", "c id=0>", "\n<doc id=0>"):
        path.write_text(whole.replace("<doc id=0>", first), "utf-8")
        assert list(load(folder).train) == pairs(TRAIN)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_marks_and_line_ends(folder, mark, end):
    text = mark + content(TRAIN, margin="\t").replace("\n", end)
    (folder / "PART_I.txt").write_bytes(text.encode())
    assert list(load(folder).train) == pairs(TRAIN)


def test_lines_of_a_text_are_joined_and_its_tags_kept(folder):
    odd = [("一 <doc>\n\n  二&amp;\n<human_label>", "a <b> c\n</short_text>")]
    (folder / "PART_I.txt").write_text(content([(None, *odd[0])]), "utf-8")
    expected = ("一 <doc>二&amp;<human_label>", "a <b> c</short_text>")
    assert list(load(folder).train) == [expected]


def test_empty_sides_are_dropped_and_counted(folder):
    text = content([(None, " ", "甲"), *TRAIN, (None, "乙", "")])
    text += "<doc id=9>\n<summary>\n丙\n</summary>\n</doc>\n"
    (folder / "PART_I.txt").write_text(text, "utf-8")
    train = load(folder).train
    assert list(train) == pairs(TRAIN)
    assert (train.num_pairs, train.num_skipped) == (2, 3)


LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Z"]))


@given(st.lists(st.tuples(st.integers(1, 5) | st.none(), LINE, LINE)))
@settings(deadline=None, max_examples=50)
def test_what_was_written_is_read(tmp_path_factory, records):
    path = tmp_path_factory.getbasetemp() / "records.txt"
    records = [
        (score, text.lstrip("\ufeff"), summary.lstrip("\ufeff"))
        for score, text, summary in records
    ]
    path.write_bytes(content(records).encode())
    assert [tuple(x)[1:] for x in read_records(path)] == records


def test_records_are_read_one_at_a_time(folder):
    path = folder / "PART_I.txt"
    path.write_bytes(record(*TRAIN[0]).encode() + b"\xff\n")
    records = read_records(path)
    assert next(records).summary == "北京很大"
    with pytest.raises(CorpusError, match="line 9"):
        next(records)


def test_fingerprint_is_that_of_text_scores_and_words(folder):
    first = load(folder)
    assert load(folder).fingerprint == first.fingerprint
    assert load(folder, min_score=4).fingerprint != first.fingerprint
    path = folder / "PART_III.txt"
    path.write_text(content(SCORED).replace("第5个", "第六个"), "utf-8")
    assert load(folder).fingerprint != first.fingerprint


# === Counts ===


def test_other_counts_are_warned_of_once_a_part(folder, capsys):
    whole = [
        (score, "甲", "乙")
        for score, count in enumerate(lcsts.SCORE_COUNTS["test"], start=1)
        for _ in range(count)
    ]
    (folder / "PART_III.txt").write_text(content(whole), "utf-8")
    for min_score, expected in ((3, "8,685"), (4, "6,666")):
        corpus = lcsts.load(folder, min_score=min_score)
        messages = capsys.readouterr().err.splitlines()
        assert len(messages) == 2
        assert messages[0].startswith("Warning: ")
        assert "PART_I.txt: 2 pairs" in messages[0]
        assert "2,400,591" in messages[0] and expected in messages[1]
    assert corpus.test.num_pairs == 498


# === Words ===


def test_words_are_those_of_jieba(folder):
    jieba = pytest.importorskip("jieba")
    corpus = load(folder, words=True)
    assert corpus.tokenized
    for _ in range(2):
        found = list(corpus.train)
    assert found[1][0] == "我 来到 北京 清华大学"
    for pair, raw in zip(found, pairs(TRAIN)):
        for text, typed in zip(pair, raw):
            words = [w for w in jieba.lcut(typed) if w.strip()]
            assert text.split(" ") == words
    assert corpus.fingerprint != load(folder).fingerprint
    tokenizer = Tokenizer(mode="space", language="zh")
    tokens = tokenizer.tokenize([text for text, _ in found])
    back = [text.decode() for text in tokenizer.detokenize(tokens).numpy()]
    assert back == [text.replace(" ", "") for text, _ in pairs(TRAIN)]


def test_missing_jieba_is_named(folder, without):
    without("jieba")
    with pytest.raises(ImportError) as told:
        load(folder, words=True)
    assert 'pip install -e ".[jieba]"' in one_line(told.value)
    load(folder)


# === Bad input: one message that names the place ===


def check_message(folder, *parts):
    corpus_files.check_message(lambda: load(folder), *parts)


@pytest.mark.parametrize(
    "old, new, line, expected",
    [
        ("</summary>\n    <short", "<short", 7, "</summary> before it"),
        ("</doc>\n<doc id=1>", "<doc id=1>", 8, "</doc> before it"),
        ("</doc>\n<doc id=1>", "</doc>", 9, "<doc id=...>"),
        ("<summary>\n", "", 2, "<human_label>"),
        ("<short_text>", "<summary>", 5, "one <summary>"),
        ("<summary>", "<human_label>6</human_label>\n<summary>", 2, "1 to 5"),
        ("<summary>", "<title>", 2, "<title>"),
    ],
)
def test_lines_in_the_wrong_place_are_named(folder, old, new, line, expected):
    path = folder / "PART_I.txt"
    whole = path.read_text("utf-8")
    assert old in whole
    path.write_text(whole.replace(old, new, 1), "utf-8")
    check_message(folder, f"{path}, line {line}:", expected)


def test_a_file_cut_off_names_the_record(folder):
    path = folder / "PART_II.txt"
    text = path.read_text("utf-8").splitlines(keepends=True)
    for size in (10, 12, 17):
        path.write_text("".join(text[:size]), "utf-8")
        check_message(folder, f"{path}, line {size}:", "record of line 10")


def test_a_record_without_its_score_is_named(folder):
    path = folder / "PART_II.txt"
    text = path.read_text("utf-8")
    label = "    <human_label>2</human_label>\n"
    path.write_text(text.replace(label, ""), "utf-8")
    check_message(folder, f"{path}, line 10:", "no <human_label>")


def test_one_bad_byte_is_named(folder):
    path = folder / "PART_I.txt"
    path.write_bytes(path.read_bytes() + b"\xff\n")
    check_message(folder, f"{path}, line 17: not valid UTF-8")


def test_missing_files_are_named(folder):
    (folder / "PART_II.txt").unlink()
    check_message(folder, str(folder), "PART_II.txt", "DATA/PART_II")
    (folder / "PART_II.txt").mkdir()
    check_message(folder, "PART_II.txt", "cannot be read")
    check_message(folder / "gone", "PART_I.txt or PART_full.txt")


def test_too_high_scores_leave_nothing(folder):
    with pytest.raises(CorpusError, match="PART_II.txt: no sentence pair"):
        load(folder, min_score=6)
