"""SQuAD 1.1: questions on Wikipedia paragraphs, answered by spans of them.

XQuAD, MLQA, CMRC 2018 and many others have the same format.

Reference: [Rajpurkar et al., 2016](https://arxiv.org/abs/1606.05250).
"""

import dataclasses
import hashlib
import os
import random
from typing import NamedTuple

from tfcopy.data.corpora import corpus, tfds_corpora
from tfcopy.data.corpora.tables import Node
from tfcopy.data.corpora.text_pairs import read_lines

_TFDS_FEATURES = ("id", "title", "context", "question", "answers")

PathLike = str | os.PathLike


class Answer(NamedTuple):
    """An answer of an annotator.

    Attributes:
        text: Words of the context.
        start: Where the answer begins in the context, in code points.
    """

    text: str
    start: int


class Example(NamedTuple):
    """A question.

    Attributes:
        id: Its identifier; "" if the file has none.
        context: The paragraph that answers it.
        question: The question itself.
        answers: One or more answers; annotators may differ.
    """

    id: str
    context: str
    question: str
    answers: tuple[Answer, ...]


def load(
    train: PathLike,
    validation: PathLike | None = None,
    test: PathLike | None = None,
    *,
    num_held_out: int | None = None,
    seed: int = 0,
) -> corpus.Corpus:
    """Reads a corpus of `Example`s from JSON files, plain or compressed.

    All of them are checked before anything is returned. Questions without an
    answer, as in SQuAD 2.0, are left out and counted. If an answer is not at
    its `start`, it is looked for nearby.

    Args:
        train: The file of the training questions, `train-v1.1.json`.
        validation: The file of the validation questions. If `None`, questions
            of `train` are held out, with all others on the same article.
        test: The file of the test questions. SQuAD's is not public; papers
            report `dev-v1.1.json`, which may be given for both.
        num_held_out: The least number of questions to hold out for each split
            without a file. By default one in twenty, at most 2,000.
        seed: Chooses the articles that are held out.

    Raises:
        CorpusError: naming the file, and the position in it, such as
            `data[0].paragraphs[2].qas[1]`.
    """
    question_sets = [path and _read(path) for path in (train, validation, test)]
    splits = _splits(*question_sets, num_held_out, seed)
    return corpus.Corpus(name=os.path.basename(train), splits=splits)


def load_tfds(
    name: str = "squad", data_dir: PathLike | None = None
) -> corpus.Corpus:
    """Opens a dataset of TensorFlow Datasets as a corpus of `Example`s.

    All of it is read into memory. Its split `validation` is for testing; the
    questions for validation are held out of `train`, as in `load`.

    Args:
        name: The dataset's name in TFDS, such as `"squad/v1.1"`.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.

    Raises:
        CorpusError: naming the dataset and the split or feature that it lacks.
    """
    builder = tfds_corpora.builder_of(name, data_dir, _TFDS_FEATURES)
    names = {"train": "train", "validation": "train", "test": "validation"}
    tfds_corpora.split_names(builder, names)
    train, test = (_read_tfds(builder, names[x]) for x in ("train", "test"))
    return corpus.Corpus(
        name=builder.info.full_name, splits=_splits(train, None, test, None, 0)
    )


@dataclasses.dataclass(frozen=True)
class _Questions:
    """Questions of a file that have an answer, and the number of others.

    Questions on the same article, or on the same paragraph if articles are
    unknown, are grouped.
    """

    place: str
    articles: list[list[Example]]
    num_skipped: int = 0

    def __post_init__(self):
        if not len(self):
            raise corpus.CorpusError(
                f"{self.place}: no question with an answer there"
                + f", only {self.num_skipped:,} without"
                * bool(self.num_skipped)
                + ". Give a file such as train-v1.1.json."
            )

    def __len__(self):
        return sum(map(len, self.articles))

    def split(self) -> corpus.Split:
        examples = [x for article in self.articles for x in article]
        digest = hashlib.sha256()
        for example in examples:
            digest.update(repr(tuple(example)).encode())
        return corpus.Split(
            read=lambda: iter(examples),
            fingerprint=digest.hexdigest()[:32],
            num_pairs=len(examples),
            num_skipped=self.num_skipped,
        )


def _splits(
    train, validation, test, num_held_out, seed
) -> dict[str, corpus.Split]:
    question_sets = {"train": train, "validation": validation, "test": test}
    missing = [
        split for split, questions in question_sets.items() if not questions
    ]
    if missing:
        question_sets.update(_hold_out(train, missing, num_held_out, seed))
    return {
        split: questions.split() for split, questions in question_sets.items()
    }


def _hold_out(train, names, num_held_out, seed) -> dict[str, _Questions]:
    """Holds out whole articles, drawn at random; the rest is for training."""
    if num_held_out is None:
        num_held_out = corpus.share_held_out(len(train))
    rest = list(range(len(train.articles)))
    random.Random(seed).shuffle(rest)
    drawn = {}
    for name in names:
        drawn[name] = []
        while rest and _count(train, drawn[name]) < num_held_out:
            drawn[name].append(rest.pop())
    if num_held_out <= 0 or not rest:
        raise corpus.CorpusError(
            f"Cannot hold out {num_held_out:,} questions for "
            f"{' and '.join(names)} each: there are {len(train):,} on "
            f"{len(train.articles):,} articles in {train.place}. Hold out "
            "fewer, or give validation and test files."
        )
    drawn["train"] = rest
    return {
        name: _Questions(
            train.place,
            [train.articles[i] for i in sorted(chosen)],
            train.num_skipped if name == "train" else 0,
        )
        for name, chosen in drawn.items()
    }


def _count(questions, chosen) -> int:
    return sum(len(questions.articles[i]) for i in chosen)


def _read(path: PathLike) -> _Questions:
    articles, num_skipped = [], 0
    text = "".join(read_lines(path, keep_ends=True))
    for article in Node.parse(path, text).nodes("data"):
        examples = []
        for paragraph in article.nodes("paragraphs"):
            context = paragraph.text("context")
            examples += [_example(x, context) for x in paragraph.nodes("qas")]
        articles.append([example for example in examples if example.answers])
        num_skipped += len(examples) - len(articles[-1])
    return _Questions(str(path), [x for x in articles if x], num_skipped)


def _example(node: Node, context: str) -> Example:
    answers = []
    for answer in node.nodes("answers"):
        text, start = answer.text("text"), answer.integer("answer_start")
        place = _place(context, text, start)
        if place is None:
            raise answer.error(_not_found(text, start))
        answers.append(Answer(text, place))
    # Some files number their questions, or name none.
    id = node.object.get("id", "")
    id = str(id) if type(id) is int else node.text("id") if id else ""
    return Example(id, context, node.text("question"), tuple(answers))


def _place(context: str, text: str, start: int) -> int | None:
    """Finds the position of `text` in `context` nearest to `start`."""
    if not text.strip() or not 0 <= start <= len(context):
        return None
    if context.startswith(text, start):
        return start
    places = [
        context.rfind(text, 0, start + len(text)),
        context.find(text, start),
    ]
    places = [place for place in places if place >= 0]
    return min(places, key=lambda x: abs(x - start), default=None)


def _not_found(text, start):
    return (
        f"expected words of the context, from character {start}. "
        f"Received: {text[:80]!r}"
    )


def _read_tfds(builder, tfds_split: str) -> _Questions:
    place = f"TFDS dataset {builder.info.full_name}, {tfds_split}"
    articles, num_skipped = {}, 0
    for row in tfds_corpora.read_nested(builder, tfds_split):
        id, title, context, question = (
            row[name].decode() for name in _TFDS_FEATURES[:-1]
        )
        answers = []
        for text, start in zip(
            row["answers"]["text"], row["answers"]["answer_start"]
        ):
            text, start = text.decode(), int(start)
            offset = _place(context, text, start)
            if offset is None:
                message = _not_found(text, start)
                raise corpus.CorpusError(f"{place}, question {id}: {message}.")
            answers.append(Answer(text, offset))
        num_skipped += not answers
        if answers:
            example = Example(id, context, question, tuple(answers))
            articles.setdefault(title or context, []).append(example)
    return _Questions(place, list(articles.values()), num_skipped)
