"""Small models to search with, and what their training path says."""

import itertools

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from tests.models.defined_texts import SPELLING, batch_for, make_embedding
from tfcopy import tokens
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.layers import copying
from tfcopy.models import copynet, planner, pointer_generator, translator

V = 7
# The word 6 stands twice, an unknown word twice, then EOS, then padding.
SOURCE_IDS = np.array([[4, 1, 4, 1, 3, 0], [5, 6, 3, 0, 0, 0]], "int32")
COPY_IDS = np.array(
    [[6, V + 1, 6, V + 1, -1, -1], [V, 4, -1, -1, -1, -1]], "int32"
)


def _translator(head, **options):
    return translator(
        9,
        V,
        head=head,
        embedding_dim=4,
        units=5,
        encoder_units=3,
        output_units=4,
        **options,
    )


def _summarizer(coverage, **options):
    return pointer_generator(
        V,
        coverage=coverage,
        embedding_dim=4,
        units=5,
        attention_units=3,
        **options,
    )


def _defined(**options):
    return _translator(
        "pointer_softmax", source_embedding=make_embedding(**options)
    )


def _defined_on_both_sides():
    embedding = make_embedding(combine="transform", spelling=SPELLING)
    return _summarizer(coverage=True, source_embedding=embedding)


def _copynet():
    return copynet(9, V, embedding_dim=4, units=5, attention_units=3)


def _transformer():
    """With coverage, and a table that is the output matrix as well."""
    return pointer_generator(
        V,
        encoder="transformer",
        encoder_layers=1,
        encoder_heads=2,
        decoder="transformer",
        decoder_options={
            "num_layers": 1,
            "num_heads": 2,
            "positions": "rotary",
            "normalize_first": False,
        },
        tied=True,
        coverage=True,
        embedding_dim=4,
        units=4,
    )


def _planner(system, head):
    return planner(
        9,
        V,
        system=system,
        head=head,
        embedding_dim=4,
        units=3,
        plan_steps=3,
        summary_units=2,
    )


def randomized(make):
    """A function that makes the same model with large random weights."""

    def make_randomized():
        keras.utils.set_random_seed(3)
        model = make()
        rng = np.random.default_rng(1)
        for weight in model.trainable_variables:
            weight.assign(rng.normal(size=weight.shape) * 0.9)
        return model

    return make_randomized


# From a name to a function that makes a model of 9 source words and V target
# words; every model here is searched and compared with its training path.
MODELS = {
    "softmax": randomized(lambda: _translator("softmax")),
    "pointer_softmax": randomized(lambda: _translator("pointer_softmax")),
    "pag": randomized(lambda: _planner("pag", "pointer_generator")),
    "rpag": randomized(lambda: _planner("rpag", "copynet")),
    "pointer_generator": randomized(lambda: _summarizer(coverage=False)),
    "pointer_generator_coverage": randomized(
        lambda: _summarizer(coverage=True)
    ),
    "copynet": randomized(_copynet),
    "copynet_head": randomized(lambda: _translator("copynet")),
    "transformer": randomized(_transformer),
    "defined": randomized(lambda: _defined(reader="lstm")),
    "defined_on_both_sides": randomized(_defined_on_both_sides),
}


def source_inputs(model, rows=slice(None)):
    """Returns the model's inputs for the definitions of words, by name."""
    if not model.source_inputs:
        return {}
    batch = batch_for(model.source_embedding, {"source": SOURCE_IDS[rows]})
    return {name: batch[name] for name in model.source_inputs}


def search_sources(
    model, source_ids, copy_ids, options, *rest, searched=beam_search, **inputs
):
    """`SearchResult` of the sources and options given, in NumPy."""
    sources = map(ops.convert_to_tensor, (source_ids, copy_ids))
    result = searched(model, *sources, options, *rest, **inputs)
    return type(result)(*(ops.convert_to_numpy(x) for x in result))


def search(model, prefix=None, rows=slice(None), graph=False, **options):
    """`SearchResult` of the sources above, in NumPy.

    Exports search in graphs, which TensorFlow rewrites.
    """

    def found(source_ids, copy_ids):
        return beam_search(
            model,
            source_ids,
            copy_ids,
            SearchOptions(**options),
            prefix=prefix,
            source_inputs=source_inputs(model, rows),
        )

    if graph and keras.backend.backend() == "tensorflow":
        found = tf.function(found, autograph=False)
    arrays = SOURCE_IDS[rows], COPY_IDS[rows]
    result = found(*map(ops.convert_to_tensor, arrays))
    return type(result)(*(ops.convert_to_numpy(x) for x in result))


def _distribution(model, rows, target_ids):
    """Returns the model's distribution for targets of the sources `rows`."""
    inputs = {
        "source_ids": SOURCE_IDS[rows],
        "source_copy_ids": COPY_IDS[rows],
        "target_ids": target_ids,
        **source_inputs(model, rows),
    }
    return model(inputs), ops.convert_to_tensor(COPY_IDS[rows])


def teacher_forced(model, row, ids, merge="sum", pointers=None):
    """Log-probabilities of the words of targets, by the training path.

    `ids` holds one target, or several, each with its own `row`. What stands
    behind the end of a target counts nothing.
    """
    several = not np.isscalar(row)
    many = padded(ids if several else [ids])
    distribution, copy_ids = _distribution(model, np.atleast_1d(row), many)
    if merge == "sum":
        scores = copying.marginal_log_likelihood(distribution, many, copy_ids)
    else:
        scores = copying.observed_log_likelihood(
            distribution, many, np.array([pointers], "int32"), copy_ids
        )
    scores = ops.convert_to_numpy(scores)
    scores = np.where(many == tokens.PAD, 0.0, scores)
    return scores if several else scores[0]


def words_of(row):
    """All words that a sentence for a source may have."""
    copies = {int(i) for i in COPY_IDS[row] if i >= 0}
    return sorted({tokens.UNK, *range(4, V)} | copies)


def best_first(score, words, max_length):
    """All finished sentences of at most `max_length` tokens, for each source.

    Args:
        score: Function of rows and targets that returns log-probabilities.
        words: For each source, the words of its sentences.
        max_length: Greatest number of tokens.

    Returns:
        For each source a list of `(score, target)`.
    """
    targets = [
        (row, [*ids, tokens.EOS])
        for row, some in enumerate(words)
        for length in range(max_length)
        for ids in itertools.product(some, repeat=length)
    ]
    found = [[] for _ in words]
    for (row, ids), x in zip(targets, score(*zip(*targets)).tolist()):
        found[row].append((x, ids))
    return [sorted(some, reverse=True) for some in found]


def assert_finds(result, expected):
    """The hypotheses are the first of `(score, target)`, for each source."""
    for ids, scores, best in zip(
        result.ids, result.scores, expected, strict=True
    ):
        best = best[: len(ids)]
        assert [unpadded(x) for x in ids] == [target for _, target in best]
        np.testing.assert_allclose(scores, [x for x, _ in best], atol=1e-4)


def padded(targets):
    """Targets of any lengths as an array."""
    longest = max(map(len, targets))
    padding = [tokens.PAD] * longest
    return np.array([[*ids, *padding][:longest] for ids in targets], "int32")


def training_path(model, row, ids):
    """Attention weights and the switch while a target is read in training."""
    split, _ = _distribution(model, [row], np.array([ids], "int32"))
    return tuple(
        np.exp(ops.convert_to_numpy(x[0]))
        for x in (split.attention, split.log_generate)
    )


def unpadded(ids):
    return [int(i) for i in ids if i != tokens.PAD]
