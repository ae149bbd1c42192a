"""`--lowercase` in recipes whose words may be counted regardless of case."""

import types

import pytest
import tensorflow as tf

from tfcopy.experiments.pairs import copynet_systems, translation_data
from tfcopy.recipes import dialogue_copynet, europarl_ps, lcsts_copynet


def folded(tokenizer):
    return tokenizer.fold(tf.constant(["The", "ÉTÉ"])).numpy().tolist()


@pytest.mark.parametrize("lowercase", [True, False])
def test_words_are_looked_up_as_the_flag_says(monkeypatch, lowercase):
    expected = ["the", "été"] if lowercase else ["The", "ÉTÉ"]
    expected = [word.encode() for word in expected]
    config = europarl_ps.Config(lowercase=lowercase)
    corpus = types.SimpleNamespace(
        tokenized=False, source_language="en", target_language="fr"
    )
    tokenizers = translation_data.make_tokenizers(config, corpus, None)
    assert list(map(folded, tokenizers)) == [expected, expected]

    found = []
    monkeypatch.setattr(
        copynet_systems, "prepare", lambda *x, **_: found.append(x[2])
    )
    config = dialogue_copynet.Config(lowercase=lowercase)
    dialogue_copynet.prepare(config, None, None)
    found.append(lcsts_copynet.make_tokenizer("words", "en", lowercase))
    found.append(lcsts_copynet.make_tokenizer("characters", "zh", lowercase))
    assert list(map(folded, found)) == [expected] * 3


def test_pieces_have_their_case():
    config = europarl_ps.Config(
        lowercase=True, tokenization="sentencepiece", pieces=100
    )
    with pytest.raises(ValueError, match="--lowercase is for words"):
        translation_data.make_tokenizers(config, None, None)
