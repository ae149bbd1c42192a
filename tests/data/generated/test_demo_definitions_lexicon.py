import collections

from tfcopy.data.generated import demo_definitions_lexicon as lexicon


def test_articles_fit_the_next_word():
    text = "{A} axe cuts {a} board , {a} oak drops {a} leaf"
    expected = "An axe cuts a board , an oak drops a leaf"
    assert lexicon.with_articles(text) == expected


def test_no_two_kinds_share_words_that_tell_them_apart():
    for field in ("names", "nouns", "actions"):
        counts = collections.Counter()
        for kind in lexicon.KINDS.values():
            counts.update(set(getattr(kind, field)))
        assert max(counts.values()) == 1, field
    verbs = [
        action.split()[0]
        for kind in lexicon.KINDS.values()
        for action in kind.actions
    ]
    assert len(verbs) == len(set(verbs)) == 2 * len(lexicon.KINDS)


def test_plain_words_are_words_and_marks():
    words = lexicon.plain_words()
    assert list(words) == sorted(set(words))
    assert {"An", "straw", "coal", "Aunt", "implement", "?"} < set(words)
    assert not any(set(word) & set("{}|_") for word in words)
    assert not {"origin", "colour origin"} & set(words)
