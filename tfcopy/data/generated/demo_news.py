"""The demo corpus of summaries: short news stories and their summaries.

Each story (`demo_news_grammar.py`) tells three to five events of one kind and
is full of names of people, places, companies and clubs, which are too rare
for any vocabulary; the names of validation and test never occur in training.
Only a model that copies can summarise them, and only one that remembers what it
has covered can do so without repeating itself: to the decoder all unknown names
are alike.
"""

import functools
import os
from collections.abc import Iterator

from tfcopy.data.corpora.corpus import TranslationCorpus
from tfcopy.data.generated import generated_corpus
from tfcopy.data.generated.demo_news_grammar import NewsGrammar


def load(
    data_dir: str | os.PathLike | None = None,
    *,
    num_train: int = 12_000,
    num_validation: int = 300,
    num_test: int = 500,
    seed: int = 0,
) -> TranslationCorpus:
    """Generates the demo news, or reads it if it was generated before.

    Args:
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        num_train: Number of training stories.
        num_validation: Number of validation stories.
        num_test: Number of test stories.
        seed: The same seed gives the same stories on every machine.
    """
    pairs = generated_corpus.GeneratedPairs(
        corpus="demo_news",
        sides=("article", "summary"),
        generate=generate,
        grammar=_grammar_fingerprint(),
        seed=seed,
        num_train=num_train,
        num_validation=num_validation,
        num_test=num_test,
    )
    return generated_corpus.load(pairs, data_dir, languages=("en", "en"))


def examples() -> list[tuple[str, str]]:
    """Stories with names of all shapes and scripts, and their summaries.

    None of these names can occur in the training stories.
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


def generate(split: str, num_stories: int, seed: int = 0) -> Iterator:
    """Yields articles and summaries without storing them anywhere."""
    grammar = NewsGrammar(seed, split)
    for _ in range(num_stories):
        yield grammar.story()


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that a stale corpus is never read."""
    return generated_corpus.grammar_fingerprint(
        ("demo_names", "demo_news_patterns", "demo_news_words"),
        list(generate("train", 100)),
    )
