import json

import numpy as np
import pytest
import tensorflow_datasets as tfds

from tests.data.corpora import corpus_files
from tests.data.real_corpora import real
from tfcopy.data.corpora import squad, tfds_corpora
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.corpora.squad import Answer, Example

CONTEXT = "😀 Łukasz sang in Oslo, Łukasz danced."
DANCED = Answer("Łukasz", 23), Answer("Łukasz", 2)
EXAMPLES = [
    Example("n1", CONTEXT, "Who danced?", DANCED),
    Example("n2", CONTEXT, "Where?", (Answer("Oslo", 17),)),
]


def paragraph(context, examples):
    """Questions about a context, in the format of the files."""
    questions = [
        {
            "id": x.id,
            "question": x.question,
            "answers": [{"text": y, "answer_start": i} for y, i in x.answers],
        }
        for x in examples
    ]
    return {"context": context, "qas": questions}


NORWAY = {"title": "Norway", "paragraphs": [paragraph(CONTEXT, EXAMPLES)]}


def write(path, articles, **options):
    text = json.dumps({"version": "1.1", "data": articles}, **options).encode()
    return corpus_files.write(path, text)


def numbered(num_articles, num_paragraphs=2):
    """Articles of two questions a paragraph."""
    answers = (Answer("context", 0),)
    articles = []
    for i in range(num_articles):
        paragraphs = []
        for j in range(num_paragraphs):
            context, name = f"context {i} {j}", f"{i}-{j}"
            examples = [
                Example(f"{name}-{k}", context, f"which {k}?", answers)
                for k in range(2)
            ]
            paragraphs.append(paragraph(context, examples))
        articles.append({"title": f"t{i}", "paragraphs": paragraphs})
    return articles


def articles_of(split):
    return {example.id.split("-")[0] for example in split}


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_reads_questions_again_and_again(tmp_path, name, ensure_ascii):
    path = write(tmp_path / name, [NORWAY], ensure_ascii=ensure_ascii)
    corpus = squad.load(path, path, path)
    for split in corpus.splits.values():
        assert list(split) == list(split) == EXAMPLES
        assert (split.num_pairs, split.num_skipped) == (2, 0)
    for example in corpus.test:
        for text, start in example.answers:
            assert example.context[start : start + len(text)] == text
    assert corpus.name == name


def test_questions_without_an_answer_are_skipped_and_counted(tmp_path):
    articles = changed(lambda x: x["qas"][0].update(answers=[]))
    path = write(tmp_path / "a.json", articles)
    train = squad.load(path, path, path).train
    assert list(train) == EXAMPLES[1:]
    assert (train.num_pairs, train.num_skipped) == (1, 1)


@pytest.mark.parametrize("start, found", [(0, 2), (13, 23), (12, 2), (24, 23)])
def test_an_answer_beside_its_start_is_found_nearby(tmp_path, start, found):
    path = write(tmp_path / "a.json", changed_answer(0, 0, answer_start=start))
    first = next(iter(squad.load(path, path, path).train))
    assert first.answers[0] == Answer("Łukasz", found)


@pytest.mark.parametrize("id", [{"id": 7}, {"id": None}, {}])
def test_an_identifier_may_be_a_number_or_missing(tmp_path, id):
    (question, *_) = paragraph(CONTEXT, EXAMPLES)["qas"]
    del question["id"]
    article = {"paragraphs": [{"context": CONTEXT, "qas": [id | question]}]}
    path = write(tmp_path / "a.json", [article])
    (example,) = squad.load(path, path, path).test
    assert example.id == ("7" if id.get("id") else "")


def test_whole_articles_are_held_out(tmp_path):
    path = write(tmp_path / "a.json", numbered(40))
    corpus = squad.load(path, num_held_out=10)
    sizes = {name: len(list(split)) for name, split in corpus.splits.items()}
    assert sizes == {"train": 136, "validation": 12, "test": 12}
    for name, split in corpus.splits.items():
        assert split.num_pairs == sizes[name]
    parts = [articles_of(split) for split in corpus.splits.values()]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 40
    again = squad.load(path, num_held_out=10)
    other = squad.load(path, num_held_out=10, seed=1)
    assert again.fingerprint == corpus.fingerprint != other.fingerprint
    assert list(again.test) == list(corpus.test) != list(other.test)


def test_only_missing_splits_are_held_out(tmp_path):
    path = write(tmp_path / "a.json", numbered(40))
    corpus = squad.load(path, test=write(tmp_path / "b.json", [NORWAY]))
    sizes = {name: split.num_pairs for name, split in corpus.splits.items()}
    # One question in twenty.
    assert sizes == {"train": 152, "validation": 8, "test": 2}


def check_message(path, *parts, **options):
    corpus_files.check_message(
        lambda: squad.load(path, **options), path, *parts
    )


def test_too_few_articles_to_hold_out(tmp_path):
    path = write(tmp_path / "a.json", numbered(3))
    check_message(path, "12 on 3 articles", "Hold out", num_held_out=5)
    check_message(path, "Cannot hold out 0", num_held_out=0)


def changed(change):
    article = json.loads(json.dumps(NORWAY))
    change(article["paragraphs"][0])
    return [article]


def changed_answer(question, answer, **values):
    return changed(
        lambda x: x["qas"][question]["answers"][answer].update(values)
    )


@pytest.mark.parametrize(
    "articles, parts",
    [
        ({}, [": data: expected a list. Received: {}"]),
        (["x"], ['data[0]: expected an object. Received: "x"']),
        ([{"title": "x"}], ["data[0]: no 'paragraphs'; the object has: title"]),
        (
            changed(lambda x: x.update(context=5)),
            ["data[0].paragraphs[0]: context: expected a string. Received: 5"],
        ),
        (
            changed(lambda x: x["qas"][1].update(question="\ud800")),
            ["data[0].paragraphs[0].qas[1]: question: not valid Unicode"],
        ),
        (
            changed_answer(1, 0, text="Paris"),
            [
                "data[0].paragraphs[0].qas[1].answers[0]: expected words of "
                "the context, from character 17. Received: 'Paris'"
            ],
        ),
        (
            changed_answer(0, 1, text=" "),
            ["qas[0].answers[1]", "Received: ' '"],
        ),
        (
            changed_answer(0, 1, answer_start=-1),
            ["qas[0].answers[1]", "from character -1"],
        ),
        (
            changed_answer(0, 1, answer_start=1.5),
            ["answer_start: expected an integer. Received: 1.5"],
        ),
        (
            changed(lambda x: [y.update(answers=[]) for y in x["qas"]]),
            ["no question with an answer there, only 2 without"],
        ),
        ([], ["no question with an answer there. Give"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path, articles, parts):
    check_message(write(tmp_path / "a.json", articles), *parts)


def test_broken_files_are_named(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"data": [\n  {"title" 5}]}')
    check_message(path, "line 2: not valid JSON", "character 12")
    path.write_text("[" * 100_000)
    check_message(path, "not valid JSON")
    path.write_bytes(b'{"data":\n"\xe9"}')
    check_message(path, "line 2", "not valid UTF-8")
    check_message(tmp_path / "gone.json", "No such file")


# === TensorFlow Datasets ===


def questions(articles):
    return [
        {**question, "title": article["title"], "context": part["context"]}
        for article in articles
        for part in article["paragraphs"]
        for question in part["qas"]
    ]


class TinySquad(corpus_files.TinyDataset):
    """A twin of TFDS's `squad/v1.1`."""

    text = tfds.features.Text()
    answers = {"text": text, "answer_start": np.int32}
    features = tfds.features.FeaturesDict(
        {
            **dict.fromkeys(("title", "context", "question"), text),
            "id": np.str_,
            "answers": tfds.features.Sequence(answers),
        }
    )
    splits = {
        "train": questions([NORWAY, *numbered(3, 1)]),
        "validation": questions([NORWAY]),
        "broken": questions(changed_answer(1, 0, text="Paris")),
    }


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("tfds")


def test_reads_tensorflow_datasets(data_dir):
    corpus = squad.load_tfds("tiny_squad", data_dir)
    assert list(corpus.test) == list(corpus.test) == EXAMPLES
    assert len(list(corpus.train)) + len(list(corpus.validation)) == 8
    assert len(list(corpus.validation)) > 0


def test_errors_of_tensorflow_datasets_name_the_place(data_dir):
    builder = tfds_corpora.builder_of("tiny_squad", data_dir)
    message = "broken, question n2: expected words of the"
    with pytest.raises(CorpusError, match=message):
        squad._read_tfds(builder, "broken")


def test_reads_xquad():
    (path,) = real("squad/xquad.en.json")
    train = squad.load(path, path, path).train
    examples = list(train)
    assert (len(examples), train.num_skipped) == (1190, 0)
    assert len({example.context for example in examples}) == 240
    for example in examples:
        for text, start in example.answers:
            assert example.context[start : start + len(text)] == text
