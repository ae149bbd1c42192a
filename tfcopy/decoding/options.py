"""Options of beam search and sampling."""

import dataclasses
import math

# More beams would fill the memory: each has a row for the whole vocabulary.
MOST_BEAMS = 10_000
MOST_TOKENS = 100_000


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """Options of `beam_search`.

    ```python
    options = decoding.SearchOptions(num_beams=4, length_penalty=1.0)
    sampling = decoding.SearchOptions(sample=True, top_k=5, temperature=0.7)
    ```

    Attributes:
        num_beams: Hypotheses kept at each step, K; 1 is greedy search.
        num_hypotheses: Number of hypotheses to return, the best first.
        max_length: Maximum number of tokens of a hypothesis, including EOS.
        min_length: Minimum number of tokens before EOS.
        length_penalty: Scores are divided by `length ** length_penalty`: 0
            ranks by log-probability, 1 by its mean per token.
        length_offset: Added to that length; 1 counts BOS, as in See et al.
        refill: Whether K hypotheses continue when others finish, until K have
            finished, as in See et al. Otherwise each finished hypothesis leaves
            one beam less.
        patient: With `refill`, whether the search goes on after that, until the
            best of the others is no better, at its present length, than the
            worst of those that have finished, as in `transformers`.
        coverage_penalty: Weight of `sum_j log min(1, attention on j)`, added
            to a finished hypothesis (Wu et al., 2016, eq. 14); j are the
            source positions without the padding.
        no_repeat_ngram: Length of the n-grams that may not occur twice in a
            hypothesis, including copied tokens; 0 switches it off. EOS is
            always allowed.
        forbid_unk: Whether to forbid UNK, both generated and copied.
        unfinished_compete: Whether hypotheses that are cut off at `max_length`
            compete with the finished ones by their scores, as in the code of
            dl4mt and of CopyNet. Otherwise they rank below all finished ones.
        rescale: Whether the other tokens share the mass of a forbidden UNK, so
            that they sum to one, as in Gu et al.'s code.
        source_only: Ids of tokens that are allowed only if the source holds
            them, such as placeholders of entities.
        must_copy: Whether each protected token of the source must occur in the
            hypothesis exactly as often as in the source. No hypothesis ends
            before that, unless the tokens do not fit into `max_length`; it then
            ranks last.
        sample: Whether to sample instead: each of the K beams draws its tokens
            at random, independently of the others. The hypotheses are then
            samples, ranked by their scores, and may be equal; `refill` has no
            effect.
        temperature: Divides the log-probabilities for sampling. Below 1, likely
            tokens become likelier; near 0, search is greedy.
        top_k: Number of most probable tokens to sample from; 0 for all.
        top_p: Samples are drawn from the smallest set of tokens whose
            probabilities sum to this share.
        sample_seed: Seed of the samples. The samples of a text depend only on
            the seed and the text.
        merge: How to merge all ways to produce a token, by generating it and by
            pointing at each of its positions: `"sum"` adds them up; `"max"`
            takes the best, as in the pointer softmax paper. Sampling always
            adds them up.
        return_attention: Whether to return the attention.
        same_in_every_batch: Whether hypotheses must not depend on the number of
            sentences in a batch, to the last bit on processors with AVX-512.
            Sentences then leave a batch in multiples of eight, since other
            numbers of rows change the rounding of sums. It has an effect only
            on TensorFlow; on other backends sentences do not leave the batch.
        static_shapes: Whether to avoid shapes that depend on values, so that
            XLA can compile the search; always so on other backends than
            TensorFlow. Finished sentences then stay in the batch.
    """

    num_beams: int = 5
    num_hypotheses: int = 1
    max_length: int = 60
    min_length: int = 0
    length_penalty: float = 0.0
    length_offset: int = 0
    refill: bool = False
    patient: bool = False
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
        def check(name, fits, wanted):
            if not fits:
                value = getattr(self, name)
                raise ValueError(
                    f"`{name}` must {wanted}. Received: {value!r}."
                )

        def check_count(name, most, noun):
            is_count = 1 <= getattr(self, name) <= most
            check(name, is_count, f"be from 1 to {noun}")

        beams, most = self.num_beams, self.max_length
        check_count("num_beams", MOST_BEAMS, f"{MOST_BEAMS:,}")
        check_count("num_hypotheses", beams, f"`num_beams` ({beams})")
        check_count("max_length", MOST_TOKENS, f"{MOST_TOKENS:,}")
        below = f"be at least 0 and below `max_length` ({most})"
        check("min_length", 0 <= self.min_length < most, below)
        is_finite = 0 <= self.length_penalty < math.inf
        check("length_penalty", is_finite, "be at least 0 and finite")
        for name in ("length_offset", "coverage_penalty"):
            check(name, getattr(self, name) >= 0, "not be negative")
        check("merge", self.merge in ("sum", "max"), "be 'sum' or 'max'")
        is_positive = 0 < self.temperature < math.inf
        check("temperature", is_positive, "be a positive number")
        check("top_p", 0 < self.top_p <= 1, "be above 0 and at most 1")
        is_seed = 0 <= self.sample_seed < 2**32
        check("sample_seed", is_seed, "be at least 0 and below 2**32")
        for name in ("top_k", "no_repeat_ngram"):
            check(name, getattr(self, name) >= 0, "not be negative")

    @property
    def adds_ways(self):
        """`True` if the score of a token adds up all ways to produce it."""
        return self.merge == "sum" or self.sample
