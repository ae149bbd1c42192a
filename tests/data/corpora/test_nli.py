import json
from collections import Counter

import pytest
import tensorflow_datasets as tfds

from tests.data.corpora import corpus_files
from tests.data.real_corpora import real
from tfcopy.data.corpora import nli
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.corpora.nli import Example

# Premise, hypothesis, label as published.
ROWS = [
    ("A man (tall) sings.", "A man sings.", "entailment"),
    ("北京 🙂", "A man sleeps.", "contradiction"),
    ("Two dogs.", "Nobody agreed.", "-"),
    ("A “quote”\u2028here", 'a "quote', "neutral"),
    (" ", "A blank premise.", "neutral"),
]
EXAMPLES = [
    Example(*ROWS[0][:2], 2),
    Example(*ROWS[1][:2], 0),
    Example(*ROWS[3][:2], 1),
]
PARSES = (
    "( ( A man ) ( ( -LRB- tall -RRB- ) sings ) . )",
    "( ( A man ) ( sings . ) )",
)


def jsonl(rows=ROWS):
    """Returns rows in the JSON form of SNLI and MultiNLI."""
    return "".join(
        json.dumps(
            {
                "annotator_labels": [label],
                "gold_label": label,
                "genre": "fiction",
                "sentence1": premise,
                "sentence1_binary_parse": PARSES[0],
                "sentence2": hypothesis,
                "sentence2_binary_parse": PARSES[1],
            }
        )
        + "\n"
        for premise, hypothesis, label in rows
    )


def tsv(rows=ROWS, num_labels=5):
    """Their tab-separated twin, which may lack labels of annotators."""
    lines = [
        "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\t"
        "sentence1\tsentence2\tpairID\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5"
    ]
    for premise, hypothesis, label in rows:
        cells = [label, *PARSES, premise, hypothesis, "1"]
        lines.append("\t".join(cells + [label] * num_labels))
    return "\n".join(lines) + "\n"


def sick(label_column="entailment_judgment"):
    lines = [f"pair_ID\tsentence_A\tsentence_B\tscore\t{label_column}"]
    for i, (premise, hypothesis, label) in enumerate(ROWS):
        lines.append(f"{i}\t{premise}\t{hypothesis}\t4.5\t{label.upper()}")
    return "\r\n".join(lines) + "\r\n"


def generic(separator):
    rows = [("label", "premise", "hypothesis")]
    rows += [(label, *texts) for *texts, label in ROWS]
    if separator == ",":
        quoted = [[x.replace('"', '""') for x in row] for row in rows]
        return "".join(",".join(f'"{x}"' for x in row) + "\n" for row in quoted)
    return "".join("\t".join(row) + "\n" for row in rows)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    "name, text",
    [
        ("snli_1.0_dev.jsonl", jsonl()),
        ("snli_1.0_dev.txt", tsv()),
        ("multinli_1.0_train.txt", tsv(num_labels=1)),
        ("SICK_train.txt", sick()),
        ("SICK.txt", sick("entailment_label")),
        ("pairs.tsv", generic("\t")),
        ("pairs.csv", generic(",")),
    ],
)
def test_reads_what_publishers_give(tmp_path, name, text, suffix):
    path = corpus_files.write(tmp_path / (name + suffix), text)
    corpus = nli.load(path, path, path)
    for split in corpus.splits.values():
        assert list(split) == list(split) == EXAMPLES
        assert (split.num_pairs, split.num_skipped) == (3, 2)
    assert corpus.name == path.name
    assert not corpus.tokenized


def test_a_label_changes_the_fingerprint(tmp_path):
    fingerprints = set()
    for label in nli.LABELS:
        path = corpus_files.write(
            tmp_path / "a.jsonl", jsonl([("a", "b", label)])
        )
        fingerprints.add(nli.load(path, path, path).fingerprint)
    assert len(fingerprints) == 3


@pytest.mark.parametrize(
    "name, text, parts",
    [
        (
            "a.jsonl",
            jsonl([ROWS[0], ("a", "b", "2")]),
            ["line 2", "'2'", "neutral"],
        ),
        ("a.txt", tsv([ROWS[0], ("a", "b", "no")]), ["line 3", "'no'"]),
        (
            "a.tsv",
            "premise\thypothesis\n",
            ["sentence1", "premise, hypothesis"],
        ),
        ("a.csv", "", ["Received: none"]),
        ("a.jsonl", '{"gold_label": 5}\n', ["Received: gold_label"]),
        (
            "a.jsonl",
            '{"premise": "a", "hypothesis": "b", "label": 1}\n',
            ["line 1", "label: expected", "Received: 1"],
        ),
        ("a.jsonl", jsonl(ROWS[:1]) + "{", ["line 2", "not valid JSON"]),
        ("a.txt", tsv()[:-30] + "\tx" * 9 + "\n", ["line 6", "expected 11"]),
        ("a.txt", tsv() + "neutral\t( a )\n", ["line 7", "Received: 2"]),
        (
            "a.jsonl",
            jsonl(ROWS[2:3]),
            ["no labelled sentence pair there, only 1"],
        ),
        ("a.xml", "", ["its name does not show its format"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, text, parts):
    path = corpus_files.write(tmp_path / name, text)
    corpus_files.check_message(lambda: nli.load(path, path, path), path, *parts)


# === TensorFlow Datasets ===


def features_of(*labels):
    text = tfds.features.Text()
    label = tfds.features.ClassLabel(names=labels)
    return tfds.features.FeaturesDict(
        {"premise": text, "hypothesis": text, "label": label}
    )


def splits_of(*names):
    """The rows, of which each split lacks the first ones of others."""
    rows = [
        {"premise": x, "hypothesis": y, "label": -1 if z == "-" else z}
        for x, y, z in ROWS
    ]
    return {name: rows[i:] for i, name in enumerate(names)}


class TinyNli(corpus_files.TinyDataset):
    """A twin of TFDS's `multi_nli`; rows without a label have -1."""

    features = features_of("entailment", "neutral", "contradiction")
    splits = splits_of("train", "validation_matched", "validation_mismatched")


class TinySnli(TinyNli):
    """A twin of TFDS's `snli`."""

    splits = splits_of(*corpus_files.SPLITS)


class TinyRte(corpus_files.TinyDataset):
    """A twin of TFDS's `glue/rte`, which has other labels."""

    features = features_of("entailment", "not_entailment")
    splits = dict.fromkeys(
        corpus_files.SPLITS, [{"premise": "a", "hypothesis": "b", "label": 1}]
    )


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("tfds")


@pytest.mark.parametrize("name", ["tiny_nli", "tiny_snli"])
def test_reads_tensorflow_datasets(data_dir, name):
    corpus = nli.load_tfds(name, data_dir)
    assert list(corpus.train) == list(corpus.train) == EXAMPLES
    assert list(corpus.validation) == EXAMPLES[1:]
    assert list(corpus.test) == EXAMPLES[2:]
    assert corpus.train.num_pairs == len(ROWS)


def test_errors_of_tensorflow_datasets(data_dir):
    with pytest.raises(
        CorpusError, match="tiny_rte.*Received: entailment, not"
    ):
        nli.load_tfds("tiny_rte", data_dir)


def test_reads_sick():
    train, trial = real("nli/SICK_train.txt", "nli/SICK_trial.txt")
    corpus = nli.load(train, trial, trial)
    assert (corpus.train.num_pairs, corpus.train.num_skipped) == (4500, 0)
    assert corpus.validation.num_pairs == 500
    counts = Counter(example.label for example in corpus.train)
    assert counts == {1: 2536, 2: 1299, 0: 665}
    assert next(iter(corpus.validation)) == Example(
        "The young boys are playing outdoors and the man is smiling nearby",
        "There is no boy playing outdoors and there is no man smiling",
        0,
    )
