import numpy as np
import pytest

from tests.data.real_corpora import real
from tfcopy.data import Tokenizer
from tfcopy.data.corpora import squad
from tfcopy.data.corpora.squad import Answer, Example
from tfcopy.data.definitions import word_texts
from tfcopy.data.definitions.word_texts import WordNumbers, WordTexts
from tfcopy.evaluation import definition_scores as squad_evaluation

EXAMPLES = [
    ({"premise": ["a", "cat"], "hypothesis": ["a", "pet"]}, {"label": 2}),
    ({"premise": [], "hypothesis": ["pet"]}, {"label": 0}),
]


def test_keeps_words_and_labels():
    found = WordTexts.from_examples(EXAMPLES)
    assert len(found) == 2
    assert found.words == ["a", "cat", "pet"]
    assert found.tokens("hypothesis", 0) == ["a", "pet"]
    assert found.tokens("premise", 1) == []
    assert found.labels["label"].tolist() == [2, 0]
    assert found.counts() == {"a": 2, "cat": 1, "pet": 2}


def test_a_subset_has_some_examples():
    found = WordTexts.from_examples(EXAMPLES * 2).subset([3, 0])
    assert found.tokens("hypothesis", 0) == ["pet"]
    assert found.tokens("premise", 1) == ["a", "cat"]
    assert found.labels["label"].tolist() == [0, 2]


def test_corpora_share_their_numbers():
    numbers = WordNumbers()
    train = WordTexts.from_examples(EXAMPLES, numbers)
    test = WordTexts.from_examples([({"text": ["dog", "pet"]}, {})], numbers)
    assert test.texts["text"][0].tolist() == [3, 2]
    assert train.words == test.words == ["a", "cat", "pet", "dog"]
    # Words of another corpus do not occur in this one.
    assert train.counts() == {"a": 2, "cat": 1, "pet": 2}


def test_texts_may_all_be_empty():
    found = WordTexts.from_examples([({"text": []}, {})] * 2)
    assert len(found) == 2
    assert found.texts["text"][1].tolist() == []
    assert found.texts["text"].ids.dtype == np.int32


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[::-1],
        lambda x: [x[0], (x[1][0], {"label": 1})],
        lambda x: [x[0], ({"premise": ["pet"], "hypothesis": []}, x[1][1])],
        lambda x: [({**x[0][0], "premise": ["a", "Cat"]}, x[0][1]), x[1]],
    ],
)
def test_checksum_changes_with_the_examples(change):
    before = WordTexts.from_examples(EXAMPLES).checksum
    assert WordTexts.from_examples(list(EXAMPLES)).checksum == before
    assert WordTexts.from_examples(change(EXAMPLES)).checksum != before


def test_no_example_is_an_error():
    with pytest.raises(ValueError, match="no example"):
        WordTexts.from_examples([])


CONTEXT = "😀 The 24-yard pass  of O'Neil won't do, they said."


def tokenized(answers, context=CONTEXT, tokenizer=Tokenizer()):
    answers = tuple(Answer(text, context.index(text)) for text in answers)
    examples = [Example("1", context, "Who won't?", answers)]
    (question,) = word_texts.tokenize_questions(examples, tokenizer)
    return question


def test_spans_are_the_fewest_words_that_cover_the_answers():
    answers = ["24-yard pass", "24", "of O'Neil", "won", "won't do", CONTEXT]
    question = tokenized(answers)
    assert question.context_tokens == (
        "😀 The 24-yard pass of O'Neil won 't do , they said .".split()
    )
    assert question.question_tokens == ["Who", "won", "'t", "?"]
    spans = [(2, 4), (2, 3), (4, 6), (6, 7), (6, 9), (0, 13)]
    assert list(question.spans) == spans
    assert [question.text(*span) for span in spans] == [
        *("24-yard pass", "24-yard", "of O'Neil", "won", "won't do", CONTEXT),
    ]
    assert question.references == answers


def test_text_of_a_span_is_as_it_was_typed():
    question = tokenized(["pass  of"])
    assert question.text(*question.spans[0]) == "pass  of"
    assert question.text(3, 3) == question.text(3, 1) == ""
    assert question.text(12, 14) == "."  # Place 13 is that of <eos>.
    assert question.text(13, 14) == ""


def test_other_tokenizers_do_as_well():
    assert tokenized(["won't"], tokenizer=Tokenizer("space")).spans == ((6, 7),)
    question = tokenized(["O'N"], tokenizer=Tokenizer("characters"))
    assert question.text(*question.spans[0]) == "O'N"


def test_neighbours_share_their_context():
    examples = [
        Example(str(i), context, f"why {i}?", (Answer(word, 0),))
        for i, (context, word) in enumerate(
            [("a b.", "a"), ("c d.", "c d"), ("a b.", "a b")] * 500
        )
    ]
    questions = list(word_texts.tokenize_questions(examples))
    assert [question.example for question in questions] == examples
    assert [question.question_tokens[1] for question in questions] == (
        list(map(str, range(1500)))
    )
    assert questions[0].starts is questions[2].starts
    spans = [((0, 1),), ((0, 2),), ((0, 2),)] * 500
    assert [question.spans for question in questions] == spans


def test_spans_of_xquad_score_what_the_answers_do():
    (path,) = real("squad/xquad.en.json")
    corpus = squad.load(path, path, path)
    questions = list(word_texts.tokenize_questions(corpus.test))
    assert len(questions) == 1190
    for question in questions:
        context = question.example.context
        for word, start, end in zip(
            question.context_tokens, question.starts, question.ends, strict=True
        ):
            assert context[start:end] == word
        for answer, span in zip(question.example.answers, question.spans):
            assert answer.text in question.text(*span)
            # One word fewer on either side would not do.
            assert answer.text not in question.text(span[0] + 1, span[1])
            assert answer.text not in question.text(span[0], span[1] - 1)
    texts = [question.text(*question.spans[0]) for question in questions]
    references = [question.references for question in questions]
    assert squad_evaluation.exact_match(texts, references) > 99
    assert squad_evaluation.f1(texts, references) > 99
