"""The demo corpus of summaries: short news and what they come down to.

Each story (`demo_news_grammar.py`) tells three to five events of one kind and
is full of names of people, places, companies and clubs, which are too rare
for any vocabulary; those of validation and test are never seen in training.
Only a model that copies can summarise them, and only one that remembers what
it has told can do so without repeating itself: to the decoder one unknown
name is like the other.
"""

import dataclasses
import functools
import os
from collections.abc import Iterator

import tensorflow_datasets as tfds

from tfcopy.data.corpora import tfds_translation
from tfcopy.data.corpora.corpus import TranslationCorpus
from tfcopy.data.generated import (
    demo_names,
    demo_news_patterns,
    generated_corpus,
)
from tfcopy.data.generated.demo_news_grammar import NewsGrammar


def load(
    data_dir: str | os.PathLike | None = None,
    *,
    num_train: int = 12_000,
    num_validation: int = 300,
    num_test: int = 500,
    seed: int = 0,
) -> TranslationCorpus:
    """Generates the demo news, or reads them if they were generated before.

    Args:
        data_dir: Where TFDS keeps its datasets; by default where it always
            does, `~/tensorflow_datasets`.
        num_train: Number of training stories.
        num_validation: Number of validation stories.
        num_test: Number of test stories.
        seed: The same seed gives the same stories on every machine.
    """
    sizes = generated_corpus.Sizes(
        seed=seed,
        num_train=num_train,
        num_validation=num_validation,
        num_test=num_test,
        grammar=_grammar_fingerprint(),
    )
    builder = generated_corpus.prepare(TfcopyDemoNews, sizes, data_dir)
    corpus = tfds_translation.from_builder(builder, "article", "summary")
    return dataclasses.replace(
        corpus, source_language="en", target_language="en"
    )


def examples() -> list[tuple[str, str]]:
    """Stories with names of all shapes and scripts, and their summaries.

    None of these names can stand in the training stories.
    """
    return list(_EXAMPLES)


_EXAMPLES = (
    (
        "Voters in three towns went to the polls on Sunday. Captain "
        "Özgür-Nowak was elected mayor of Zürich-Oerlikon with 54 per cent of "
        "the vote. The new mayor wants to build a library. In 北京, Judge "
        "O'Brien-Şahin won the election by 40 votes. The people of Łódź chose "
        "Doctor Παπαδόπουλος, who had entered politics only last May. "
        '"I am proud tonight," O\'Brien-Şahin told reporters.',
        "北京 elected Judge O'Brien-Şahin. Doctor Παπαδόπουλος will lead Łódź. "
        "Captain Özgür-Nowak won in Zürich-Oerlikon.",
    ),
    (
        "It was a busy Monday on the stock market. TransRheinTech Foods will "
        "buy its rival Xenovex-9 Toys for ten million euros. Ærøfærd Glass, "
        "which makes furniture, has been sold to L'Oréo Bank. After two months "
        "of talks, Żywiołak Steel agreed to take over Nanokem+ Wines, a maker "
        "of cheese. Shares in L'Oréo Bank fell by four per cent.",
        "Ærøfærd Glass was sold to L'Oréo Bank. TransRheinTech Foods bought "
        "Xenovex-9 Toys. Żywiołak Steel takes over Nanokem+ Wines.",
    ),
    (
        "The summer of music begins on Friday. 🦄 Band will open the festival "
        "in Bålsta in July. All tickets are gone. The old theatre of Reykjavík "
        "has been rented for DJ Дмитренко. In D'Albaville, 30 thousand people "
        "want to hear N'Diaye-Weiß Trio in August. Łukasz Choir will play two "
        "nights in Ħamrun. Hotels in D'Albaville are full.",
        "Ħamrun booked Łukasz Choir. 🦄 Band plays in Bålsta. N'Diaye-Weiß "
        "Trio performs in D'Albaville. Reykjavík awaits DJ Дмитренко.",
    ),
)


class TfcopyDemoNews(generated_corpus.Generated):
    """Builds the demo news; TFDS stores, checks and reads it."""

    TITLE = "Demo news"

    def _info(self) -> tfds.core.DatasetInfo:
        text = tfds.features.Text()
        return tfds.core.DatasetInfo(
            builder=self,
            description=__doc__,
            features=tfds.features.FeaturesDict(
                {"article": text, "summary": text}
            ),
            supervised_keys=("article", "summary"),
            disable_shuffling=True,
        )

    def _pairs(self, split, number, seed):
        return generate(split, number, seed)


def generate(split: str, num_stories: int, seed: int = 0) -> Iterator:
    """Yields articles and summaries without storing them anywhere."""
    grammar = NewsGrammar(seed, split)
    for _ in range(num_stories):
        yield grammar.story()


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that no stale corpus is ever read."""
    return generated_corpus.grammar_fingerprint(
        (demo_names, demo_news_patterns), list(generate("train", 100))
    )
