"""How likely a translator's model finds given targets."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tfcopy import tokens
from tfcopy.data.pairs import encoding, pipeline
from tfcopy.layers import copying


class Score(NamedTuple):
    """What a target has.

    Attributes:
        log_probability: Of all its words and its end, in nats.
        words: Their number.
    """

    log_probability: float
    words: int


def score(
    translator, pairs: Sequence[tuple[str, str]], batch_size: int = 32
) -> Iterator[Score | None]:
    """Yields the score of each pair; `None` where a side has no words.

    Args:
        translator: A `Translator` whose model is a `Seq2Seq`.
        pairs: Sources and targets.
        batch_size: Positive integer.

    Raises:
        ValueError: If the model cannot be asked so: an ensemble, or one that
            reads definitions.
    """
    model = translator.model
    if getattr(model, "source_inputs", True):
        raise ValueError(
            "Only a model that reads nothing but ids can score targets."
        )
    if not any(source.strip() and target.strip() for source, target in pairs):
        yield from [None] * len(pairs)
        return
    encoded = encoding.encode(
        pairs,
        translator.source_vocabulary,
        translator.target_vocabulary,
        source_tokenizer=translator.source_tokenizer,
        target_tokenizer=translator.target_tokenizer,
        max_length=None,
        truncate=(translator.max_source_length, None),
        append_eos=translator.append_eos,
        entities=translator.entities,
        progress=False,
    )
    scores = [None] * len(pairs)
    for batch in pipeline.evaluation_batches(encoded, batch_size):
        distribution = model({name: batch[name] for name in model.input})
        log_probs = copying.marginal_log_likelihood(
            distribution, batch["target_ids"], batch["source_copy_ids"]
        )
        is_word = batch["target_ids"].numpy() != tokens.PAD
        totals = np.where(is_word, log_probs.numpy(), 0.0).sum(1, np.float64)
        numbers = encoded.indices[batch["indices"].numpy()]
        rows = zip(numbers, totals.tolist(), is_word.sum(1).tolist())
        for number, total, words in rows:
            scores[number] = Score(total, words)
    yield from scores
