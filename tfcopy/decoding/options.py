"""The options of a search."""

import dataclasses
import math

# A step of more would fill the memory: each beam has a row of all words.
MOST_BEAMS = 10_000


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """Options of `beam_search`.

    Attributes:
        num_beams: Hypotheses kept at each step; 1 is greedy search.
        num_hypotheses: How many of them are returned, the best first.
        max_length: Most tokens of a hypothesis, EOS included.
        min_length: Fewest tokens before EOS.
        length_penalty: Scores are divided by `length ** length_penalty`: 0
            ranks by log-probability, 1 by its mean.
        length_offset: Added to that length; 1 counts BOS, as See et al. do.
        refill: Whether K hypotheses continue when others finish, until K have
            finished, as in See et al. Otherwise each leaves one beam less.
        coverage_penalty: Weight of `sum_j log min(1, attention on j)`, added
            to a finished hypothesis (Wu et al., 2016, eq. 14); j are the
            source positions without the padding.
        no_repeat_ngram: Length of the n-grams that may not occur twice in a
            hypothesis, copied words included; 0 switches it off. EOS is always
            allowed.
        forbid_unk: Whether UNK is forbidden, both generated and copied.
        unfinished_compete: Whether hypotheses that are cut off at `max_length`
            compete with the finished ones by their scores, as in the code of
            dl4mt and of CopyNet; otherwise they rank below all of these.
        rescale: Whether the other words then share the mass of UNK, so that
            they sum to one, as in Gu et al.'s code.
        source_only: Ids of words that are allowed only if the source holds
            them, such as the placeholders of its entities.
        must_copy: Whether every protected word of the source is said exactly as
            often as it stands there: no hypothesis ends before, unless the
            words do not fit into `max_length`; it then ranks last.
        sample: Whether each of the K beams draws its words at random instead,
            independently of the others. The hypotheses are then samples, ranked
            by their scores, some of them perhaps equal; `refill` has no effect.
        temperature: Divides the log-probabilities that samples are drawn by:
            below 1 likely words become likelier, near 0 search is greedy.
        top_k: Samples are drawn from so many words, the most probable ones; 0
            for all.
        top_p: Samples are drawn from the fewest words whose probabilities make
            up this share.
        sample_seed: Another number gives other samples. Those of a text depend
            on it and on the text alone.
        merge: How all ways to say a word, generating it and pointing at each
            of its positions, are one: `"sum"` adds them up; `"max"` takes the
            best, as the pointer softmax paper does. Samples add them up.
        return_attention: Whether the result holds the attention.
        same_in_every_batch: Whether no hypothesis depends on the number of
            sentences searched for at once, to the last bit on processors with
            AVX-512: sentences then leave a batch by eights, since sums of
            other numbers of rows are rounded differently there. Where
            sentences do not leave, on other backends than TensorFlow, it has
            no effect.
        static_shapes: Whether no shape depends on values, so that XLA can
            compile the search; on other backends than TensorFlow it is always
            so. Sentences that are done then stay in the batch.
    """

    num_beams: int = 5
    num_hypotheses: int = 1
    max_length: int = 60
    min_length: int = 0
    length_penalty: float = 0.0
    length_offset: int = 0
    refill: bool = False
    coverage_penalty: float = 0.0
    no_repeat_ngram: int = 0
    forbid_unk: bool = False
    unfinished_compete: bool = False
    rescale: bool = False
    source_only: tuple[int, ...] = ()
    must_copy: bool = False
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    sample_seed: int = 0
    merge: str = "sum"
    return_attention: bool = False
    same_in_every_batch: bool = True
    static_shapes: bool = False

    def __post_init__(self):
        if not 1 <= self.num_beams <= MOST_BEAMS:
            raise ValueError(
                f"`num_beams` must be from 1 to {MOST_BEAMS:,}. "
                f"Received: {self.num_beams}."
            )
        if not 1 <= self.num_hypotheses <= self.num_beams:
            raise ValueError(
                "`num_hypotheses` must be from 1 to `num_beams` "
                f"({self.num_beams}). Received: {self.num_hypotheses}."
            )
        if self.max_length < 1:
            raise ValueError(
                f"`max_length` must be at least 1. Received: {self.max_length}."
            )
        if not 0 <= self.min_length < self.max_length:
            raise ValueError(
                "`min_length` must be at least 0 and below `max_length` "
                f"({self.max_length}). Received: {self.min_length}."
            )
        if not 0 <= self.length_penalty < math.inf:
            raise ValueError(
                "`length_penalty` must be a number of at least 0. "
                f"Received: {self.length_penalty}."
            )
        if self.length_offset < 0:
            raise ValueError(
                "`length_offset` must not be negative. "
                f"Received: {self.length_offset}."
            )
        if self.coverage_penalty < 0:
            raise ValueError(
                "`coverage_penalty` must not be negative. "
                f"Received: {self.coverage_penalty}."
            )
        if self.merge not in ("sum", "max"):
            raise ValueError(
                f"`merge` must be 'sum' or 'max'. Received: {self.merge!r}."
            )
        if not 0 < self.temperature < math.inf:
            raise ValueError(
                "`temperature` must be a positive number. "
                f"Received: {self.temperature}."
            )
        if self.top_k < 0:
            raise ValueError(
                f"`top_k` must not be negative. Received: {self.top_k}."
            )
        if not 0 < self.top_p <= 1:
            raise ValueError(
                "`top_p` must be above 0 and at most 1. "
                f"Received: {self.top_p}."
            )
        if not 0 <= self.sample_seed < 2**32:
            raise ValueError(
                "`sample_seed` must be at least 0 and below 2**32. "
                f"Received: {self.sample_seed}."
            )
        if self.no_repeat_ngram < 0:
            raise ValueError(
                "`no_repeat_ngram` must not be negative. "
                f"Received: {self.no_repeat_ngram}."
            )

    @property
    def adds_ways(self):
        """Whether a word counts by all ways to say it, not by the best."""
        return self.merge == "sum" or self.sample
