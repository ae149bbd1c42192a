import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.corpora import corpus_files
from tests.data.corpora.corpus_files import write
from tests.data.real_corpora import real
from tfcopy.data.corpora import tables
from tfcopy.data.corpora.corpus import CorpusError, is_blank

COLUMNS = {"source_column": "lead", "target_column": "title"}
ROWS = [("a lead", "a title"), ("北京 🙂", "x"), (" ", "blank"), ("b", "c")]
EXPECTED = [ROWS[0], ROWS[1], ROWS[3]]


def csv_cell(text, always=False):
    """RFC 4180, by hand."""
    if always or any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv_text(rows, end="\r\n", always=False):
    lines = (",".join(csv_cell(x, always) for x in row) for row in rows)
    return "".join(line + end for line in lines)


def tsv_text(rows, end="\n"):
    return "".join("\t".join(row) + end for row in rows)


def jsonl_text(rows, ensure_ascii=True):
    return "".join(
        json.dumps(
            {"id": i, "title": target, "lead": source},
            ensure_ascii=ensure_ascii,
        )
        + "\n"
        for i, (source, target) in enumerate(rows)
    )


def load_thrice(path, **options):
    return tables.load(path, path, path, **{**COLUMNS, **options})


def numbered(rows, header=True):
    """Rows with the columns class, title, lead."""
    rows = [(str(i), target, source) for i, (source, target) in enumerate(rows)]
    return [("class", "title", "lead")] * header + rows


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    "name, text",
    [
        ("a.csv", csv_text(numbered(ROWS))),
        ("a.csv", "\ufeff" + csv_text(numbered(ROWS), "\n", always=True)),
        ("a.tsv", tsv_text(numbered(ROWS))),
        ("a.tsv", tsv_text(numbered(ROWS), "\r\n")),
        ("a.jsonl", jsonl_text(ROWS)),
        ("a.json", jsonl_text(ROWS, ensure_ascii=False)),
    ],
)
def test_columns_are_chosen_by_name(tmp_path, name, text, suffix):
    path = write(tmp_path / (name + suffix), text)
    corpus = load_thrice(path)
    for split in corpus.splits.values():
        assert list(split) == list(split) == EXPECTED
        assert (split.num_pairs, split.num_skipped) == (3, 1)
    assert corpus.name == path.name


def test_columns_are_chosen_by_number(tmp_path):
    rows = numbered(ROWS)
    for path in [
        write(tmp_path / "bare.csv", csv_text(rows[1:])),
        write(tmp_path / "bare.tsv", tsv_text(rows[1:])),
    ]:
        for columns in ((3, 2), ("3", "2")):
            corpus = load_thrice(
                path, source_column=columns[0], target_column=columns[1]
            )
            assert list(corpus.train) == EXPECTED
    named = write(tmp_path / "named.csv", csv_text(rows))
    corpus = load_thrice(named, source_column="lead", target_column=2)
    assert list(corpus.train) == EXPECTED


def test_empty_lines_and_nulls_are_skipped_and_counted(tmp_path):
    text = jsonl_text([("a", "b")]) + "\n" + '{"lead": null, "title": "x"}\n'
    split = load_thrice(write(tmp_path / "a.jsonl", text)).train
    assert (list(split), split.num_skipped) == ([("a", "b")], 2)
    text = csv_text(numbered([("a", "b")])) + "\n\n"
    split = load_thrice(write(tmp_path / "a.csv", text)).train
    assert (list(split), split.num_skipped) == ([("a", "b")], 2)


def test_fingerprint_is_that_of_the_chosen_text(tmp_path):
    path = write(tmp_path / "a.csv", csv_text(numbered(ROWS)))
    first = load_thrice(path).fingerprint
    zipped = write(tmp_path / "a.csv.gz", csv_text(numbered(ROWS)))
    assert load_thrice(zipped).fingerprint == first
    turned = load_thrice(path, source_column="title", target_column="lead")
    assert turned.fingerprint != first
    # The same text, but cut into rows elsewhere.
    a = write(tmp_path / "b.csv", csv_text([("a\nb", "x"), ("c", "x")]))
    b = write(tmp_path / "c.csv", csv_text([("a", "x"), ("b\nc", "x")]))
    a, b = (load_thrice(p, source_column=1, target_column=2) for p in (a, b))
    assert a.fingerprint != b.fingerprint


TEXT = st.text(st.characters(exclude_characters="\ufeff", codec="utf-8"))
TABLE = st.lists(
    st.tuples(TEXT, TEXT) | st.sampled_from([('"', ","), ("\r", "\n\n")]),
    min_size=1,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl.gz"])
@given(TABLE, st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_was_written_is_read(folder, name, rows, flag):
    if name == "a.csv":
        text = csv_text(numbered(rows), "\n" if flag else "\r\n", always=flag)
    elif name == "a.tsv":
        rows = [
            tuple(" ".join(x.splitlines()).replace("\t", " ") for x in row)
            for row in rows
        ]
        text = tsv_text(numbered(rows), "\n" if flag else "\r\n")
    else:
        text = jsonl_text(rows, ensure_ascii=flag)
    path = write(folder / name, text)
    expected = [row for row in rows if not is_blank(row)]
    if not expected:
        with pytest.raises(CorpusError, match="no sentence pair"):
            load_thrice(path)
        return
    split = load_thrice(path).train
    assert list(split) == expected
    assert split.num_pairs == len(expected)
    assert split.num_skipped == len(rows) - len(expected)


# === Bad input: one message that names the place ===


def check_message(path, *parts, **options):
    corpus_files.check_message(
        lambda: load_thrice(path, **options), path, *parts
    )


def faults(cases):
    return pytest.mark.parametrize(
        "text, parts", [(text, parts) for text, *parts in cases]
    )


@faults(
    [
        ("id,title,text\n1,a,b\n", "line 1: no column 'lead'", "'id', 'title'"),
        (
            "title,lead,lead\na,b,c\n",
            "line 1: several columns are called 'lead'",
        ),
        (
            'title,lead\n"a\nb",c\nd,e,f\n',
            "line 4: expected 2 columns",
            "Received: 3",
            "not quoted?",
        ),
        ("title,lead\na,b\nc\n", "line 3: expected 2 columns", "Received: 1"),
        ('title,lead\na,b\n"c\nd,e\n', "line 3: not valid CSV", "end of data"),
        ('title,lead\n"a"b,c\n', "line 2: not valid CSV"),
        ("title,lead\na\rb,c\n", "line 2: not valid CSV"),
        ("title,lead\na, \n", "no sentence pair", "only 1 with an empty side"),
        ("", "no sentence pair there. Give"),
        (b"title,lead\na,b\n\xe9,c\n", "line 3: not valid UTF-8", "0xe9"),
    ]
)
def test_faults_of_csv(tmp_path, text, parts):
    check_message(write(tmp_path / "a.csv", text), *parts)


@faults(
    [
        ('{"lead": "a", "title": "b"}\n{"lead": "a"\n', "line 2: not valid"),
        ('["a", "b"]\n', "line 1: expected an object", '["a", "b"]'),
        ('\n{"title": "b", "id": 1}\n', "line 2: no 'lead'", "title, id"),
        ("{}\n", "line 1: no 'lead'", "has: none"),
        (
            '{"lead": ["a"], "title": "b"}\n',
            "line 1: lead: expected a string",
            '["a"]',
        ),
        (
            '{"lead": "a \\ud800", "title": "b"}\n',
            "line 1: lead: not valid Unicode",
        ),
        ("[" * 100_000 + "\n", "line 1: not valid JSON"),
        ("[\n", "line 1: not valid JSON", "an object a line"),
        (b'{"lead": "\xe9", "title": "b"}\n', "line 1: not valid UTF-8"),
    ]
)
def test_faults_of_json_lines(tmp_path, text, parts):
    check_message(write(tmp_path / "a.jsonl", text), *parts)


def test_faults_of_tsv(tmp_path):
    path = write(tmp_path / "a.tsv", "title\tlead\na\tb\tc\n")
    check_message(path, "line 2: expected 2 columns", "tabulator")


def test_a_number_beyond_the_last_column(tmp_path):
    path = write(tmp_path / "a.csv", "a,b\n")
    for column in (3, 0, "3"):
        message = f"line 1: no column {column}; there are 2: 'a', 'b'"
        check_message(path, message, source_column=column, target_column=1)


def test_unknown_format_and_missing_file(tmp_path):
    path = write(tmp_path / "a.txt", "a,b\n")
    check_message(path, "must be one of .csv, .tsv, .tab, .jsonl, .ndjson")
    check_message(tmp_path / "gone.csv", "No such file")


def test_one_quote_does_not_swallow_the_memory(tmp_path):
    text = 'title,lead\n"' + "word, word\n" * 2_000_000
    check_message(write(tmp_path / "a.csv", text), "line 2: not valid CSV")


def test_long_texts_are_read(tmp_path):
    rows = [("word, " * 100_000, "a")]
    path = write(tmp_path / "a.csv", csv_text(numbered(rows)))
    assert list(load_thrice(path).train) == rows


def test_reads_headlines_as_published():
    (path,) = real("headlines/ag_news_test.csv")
    corpus = tables.load(path, source_column=3, target_column=2)
    sizes = [split.num_pairs for split in corpus.splits.values()]
    assert sizes == [6840, 380, 380]
    pairs = [pair for split in corpus.splits.values() for pair in split]
    assert len(pairs) == 7600
    leads, headlines = (" ".join(texts).split() for texts in zip(*pairs))
    assert len(leads) > 3 * len(headlines)
    assert '""' not in leads and '"' in " ".join(leads)
