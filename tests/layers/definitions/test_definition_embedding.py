import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.definitions.test_definition_readers import flat, padded
from tfcopy.layers import DefinitionEmbedding, LSTMReader, RecurrentReader
from tfcopy.tokens import BOS, EOS, PAD, UNK

V, E = 9, 6
A, B, C, D, F = range(4, 9)
GLOSSES = [([A, B], 1), ([C], 1), ([B, C, D], 2)]

# Two texts, read together. A word has up to two entries; F is in no gloss.
CONTEXT = np.array([[A, UNK, F, UNK], [B, PAD, PAD, PAD]], "int32")
SLOTS = np.zeros((2, 4, 2), "int32")
SLOTS[0, 0] = [1, 2]
SLOTS[0, 1] = [2, 0]
SLOTS[1, 0] = [1, 0]
QUESTION = np.array([[UNK], [A]], "int32")
QUESTION_SLOTS = np.array([[[1, 0]], [[1, 2]]], "int32")

SPELLINGS = np.array([[EOS, 0, 0, 0], [BOS, 4, 5, EOS], [BOS, 5, EOS, 0]])
SPELLINGS = SPELLINGS.astype("int32")
WORDS = np.array([[1, 2, 0, 1], [2, 0, 0, 0]], "int32")
QUESTION_WORDS = np.array([[2], [0]], "int32")


def definitions_of(pack=flat, slots=SLOTS, glosses=GLOSSES):
    return {**pack(glosses), "slots": slots}


def spellings_of(slots=WORDS):
    return {"slots": slots, "ids": SPELLINGS}


def make_embedding(**options):
    """Built, and always of the same weights."""
    embedding = DefinitionEmbedding(V, E, **options)
    embedding.build()
    rng = np.random.default_rng(0)
    for weight in embedding.weights:
        if weight.trainable:
            weight.assign(rng.normal(size=weight.shape))
    return embedding


def make_model(embedding, definitions, head=None):
    """A functional model of `words`, and of all that definitions hold."""
    inputs = {
        name: keras.Input((None,) * (x.ndim - 1), dtype=x.dtype.name, name=name)
        for name, x in {"words": CONTEXT, **definitions}.items()
    }
    arguments = dict(inputs)
    outputs = embedding(arguments.pop("words"), arguments)
    return keras.Model(inputs, outputs if head is None else head(outputs))


def table_of(embedding):
    return helpers.to_numpy(embedding.word_table.embeddings)


def numpy_definitions(table, slots, glosses=GLOSSES):
    """The mean over all definitions of all entries of each word."""
    means = np.zeros((*slots.shape[:-1], table.shape[-1]))
    for place in np.ndindex(*means.shape[:-1]):
        read = [
            table[ids].mean(0)
            for slot in slots[place]
            for ids, owner in glosses
            if slot and owner == slot
        ]
        means[place] = np.mean(read, axis=0) if read else 0
    return means


def test_is_the_mean_over_all_definitions_of_all_entries():
    embedding = make_embedding()
    table = table_of(embedding)
    helpers.assert_close(
        embedding(CONTEXT, definitions_of()),
        table[CONTEXT] + numpy_definitions(table, SLOTS),
    )


def test_definitions_and_spelling_have_each_a_matrix():
    embedding = make_embedding(
        reader="mean",
        combine="transform",
        definition_vocabulary_size=V,
        spelling={"characters": 7, "units": 3, "num_buckets": 2},
    )
    assert embedding.spelling_reader.num_buckets == 2
    table, d_table, c_table, *_, d_kernel, s_kernel = map(
        helpers.to_numpy,
        [embedding.word_table.embeddings, *embedding.weights[1:]],
    )
    reader = LSTMReader(3)
    reader.build(c_table.shape)
    reader.set_weights(embedding.spelling_reader.get_weights())
    glosses = [(row[row != PAD], i) for i, row in enumerate(SPELLINGS) if i]
    expected = (
        table[CONTEXT]
        + numpy_definitions(d_table, SLOTS) @ d_kernel
        + helpers.to_numpy(reader(c_table, padded(glosses)))[WORDS] @ s_kernel
    )
    actual = embedding(CONTEXT, definitions_of(), spellings_of())
    helpers.assert_close(actual, expected)


@pytest.mark.parametrize("combine", ["sum", "transform"])
def test_a_word_without_definition_is_exactly_its_own(combine):  # check 10
    embedding = make_embedding(combine=combine)
    actual = helpers.to_numpy(embedding(CONTEXT, definitions_of()))
    table = table_of(embedding)
    undefined = SLOTS.sum(-1) == 0
    assert (actual[undefined] == table[CONTEXT[undefined]]).all()
    helpers.assert_close(embedding(CONTEXT), table[CONTEXT], rtol=0, atol=0)


def gradients_of(embedding, loss):
    """Of all weights; of what the backend knows to be constant, zeros."""
    actual = helpers.gradients(loss, {}, embedding.weights)[2]
    return [
        np.zeros(weight.shape) if x is None else helpers.to_numpy(x)
        for weight, x in zip(embedding.weights, actual)
    ]


def test_reading_each_occurrence_is_the_same():  # check 9
    """The paper's code reads a pair for each definition of each word."""
    embedding = make_embedding(combine="transform")
    kernel = embedding.combination.kernels["definitions"]
    pairs = [
        (b * CONTEXT.shape[1] + t, j)
        for b, t, place in np.argwhere(SLOTS)
        for j, (_, owner) in enumerate(GLOSSES)
        if owner == SLOTS[b, t, place]
    ]
    words, places = np.array(pairs).T
    numbers = np.bincount(words, minlength=CONTEXT.size)

    def by_occurrence(_):
        table = ops.convert_to_tensor(embedding.word_table.embeddings)
        read = ops.stack(
            [ops.mean(ops.take(table, ids, 0), 0) for ids, _ in GLOSSES]
        )
        sums = ops.segment_sum(
            ops.take(read, places, 0), words.astype("int32"), CONTEXT.size
        )
        mean = sums / np.maximum(numbers, 1)[:, None].astype("float32")
        read = ops.reshape(ops.matmul(mean, kernel), (*CONTEXT.shape, E))
        return helpers.weighted_sum(ops.take(table, CONTEXT, 0) + read)

    def by_slot(_):
        return helpers.weighted_sum(embedding(CONTEXT, definitions_of()))

    helpers.assert_close(by_slot(None), by_occurrence(None))
    helpers.assert_close(
        tuple(gradients_of(embedding, by_slot)),
        tuple(gradients_of(embedding, by_occurrence)),
    )


@pytest.mark.parametrize(
    "reader, pack", [("mean_linear", flat), ("lstm", padded)]
)
def test_definitions_may_be_shut_off_from_learning(reader, pack):  # check 11
    """C and D stand in glosses only; F is no part of any gloss."""
    assert not np.isin([C, D], CONTEXT).any()
    for stop_gradient in (False, True):
        embedding = make_embedding(
            reader=reader, combine="transform", stop_gradient=stop_gradient
        )

        def loss(_):
            read = embedding(CONTEXT, definitions_of(pack))
            return helpers.weighted_sum(read)

        d_table, *d_reader, d_kernel = gradients_of(embedding, loss)
        assert d_table[[A, B, F]].any(-1).all() and d_kernel.any()
        assert d_table[[C, D]].any() == (not stop_gradient)
        for x in d_reader:
            assert x.any() == (not stop_gradient)
        # Optimizers warn of weights that are trainable without a gradient.
        learning = 2 if stop_gradient else len(embedding.weights)
        assert len(embedding.trainable_weights) == learning


@pytest.mark.parametrize(
    "together",
    [
        lambda x, y: [x, y],
        lambda x, y: (x, y),
        lambda x, y: {"question": y, "context": x},
    ],
)
def test_texts_that_are_read_together_are_as_if_read_alone(together):
    embedding = make_embedding(
        reader="lstm", spelling={"characters": 7, "units": E}
    )
    actual = embedding(
        together(CONTEXT, QUESTION),
        definitions_of(padded, together(SLOTS, QUESTION_SLOTS)),
        spellings_of(together(WORDS, QUESTION_WORDS)),
    )
    expected = together(
        embedding(CONTEXT, definitions_of(padded), spellings_of()),
        embedding(
            QUESTION,
            definitions_of(padded, QUESTION_SLOTS),
            spellings_of(QUESTION_WORDS),
        ),
    )
    keras.tree.assert_same_structure(actual, expected)
    for x, y in zip(*map(keras.tree.flatten, (actual, expected))):
        helpers.assert_close(x, y)


@pytest.mark.parametrize(
    "reader, pack", [("mean_linear", flat), ("lstm", padded)]
)
def test_a_table_of_all_entries_is_as_if_read_alive(reader, pack):
    """Of four entries, of which the third has no definition."""
    entries = [[[A, B], [C]], [[B, C, D]], [], [[D], [C, C], [A]]]

    def block(first, last):
        kept = [e for e in range(first, last) if entries[e]]
        slots = {e: i + 1 for i, e in enumerate(kept)}
        read = [(ids, slots[e]) for e in kept for ids in entries[e]]
        slots = [[[slots.get(e, 0)] for e in range(first, last)]]
        return definitions_of(pack, np.array(slots), read or [([PAD], 0)])

    embedding = make_embedding(reader=reader, combine="transform")
    sums, counts = embedding.table([block(0, 1), block(1, 3), block(3, 4)])
    assert counts.tolist() == [0, 2, 1, 0, 3] and not sums[0].any()
    numbers = np.array([[[1, 4], [2, 0], [0, 0], [3, 4]]] * 2, "int32")
    definitions = block(0, 4)
    to_slots = np.concatenate([[0], definitions["slots"].reshape(-1)])
    definitions["slots"] = to_slots[numbers].astype("int32")
    alive = embedding(CONTEXT, definitions)
    for rows, tolerance in (
        ((sums, counts), 1e-5),
        ((sums.astype("float16"), counts), 1e-2),
    ):
        actual = embedding(CONTEXT, {"slots": numbers}, rows=rows)
        helpers.assert_close(actual, alive, atol=tolerance, rtol=tolerance)


def test_definitions_of_a_request_take_the_place_of_others():
    embedding = make_embedding(combine="transform")
    request = [([D, D], 1), ([A], 2), ([F, B], 3)]
    vectors = embedding.read(flat(request))[1:]
    matches = np.zeros((2, 4, 3), "float32")
    matches[0, 2, :2] = 1  # F, which has no definition otherwise
    matches[1, 0, 2] = 1  # B, which has
    table = table_of(embedding)
    read = numpy_definitions(table, SLOTS)
    means = [table[ids].mean(0) for ids, _ in request]
    read[0, 2], read[1, 0] = np.mean(means[:2], axis=0), means[2]
    kernel = helpers.to_numpy(embedding.combination.kernels["definitions"])
    actual = embedding(
        CONTEXT,
        definitions_of(),
        request={"matches": matches, "vectors": vectors},
    )
    helpers.assert_close(actual, table[CONTEXT] + read @ kernel)


def test_given_tables_are_not_trained(tmp_path):
    rng = np.random.default_rng(1)
    words, glosses = rng.normal(size=(V, E)), rng.normal(size=(V, 3))
    embedding = DefinitionEmbedding(
        V,
        E,
        reader="mean_linear",
        embeddings=words,
        definition_embeddings=glosses,
    )
    model = make_model(embedding, definitions_of())
    kernel = helpers.to_numpy(embedding.reader.kernel)
    expected = words[CONTEXT] + numpy_definitions(glosses, SLOTS) @ kernel
    arguments = {"words": CONTEXT, **definitions_of()}
    helpers.assert_close(helpers.evaluate(model, arguments), expected)
    assert len(embedding.trainable_weights) == 1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    helpers.assert_close(helpers.evaluate(loaded, arguments), expected)
    assert len(loaded.trainable_weights) == 1


def test_a_language_model_may_share_its_lstm(tmp_path):
    """Also when loaded again."""
    lstm = keras.layers.LSTM(E, return_sequences=True)
    embedding = DefinitionEmbedding(V, E, reader=RecurrentReader(lstm))
    model = make_model(embedding, definitions_of(padded), lstm)
    assert model.count_params() == V * E + 4 * E * (2 * E + 1)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert [w.shape for w in loaded.weights] == [w.shape for w in model.weights]
    arguments = {"words": CONTEXT, **definitions_of(padded)}
    helpers.assert_close(
        helpers.evaluate(loaded, arguments), helpers.evaluate(model, arguments)
    )
    assert loaded.layers[-1] is loaded.get_layer(embedding.name).reader.layer


def test_learns_in_a_model_whose_inputs_differ_in_length():
    """Labels depend on the gloss of an unknown word only."""
    embedding = DefinitionEmbedding(V, E, combine="bands")
    model = make_model(embedding, definitions_of(), keras.layers.Dense(2))
    model.compile(
        keras.optimizers.Adam(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    arguments = {
        "words": np.full((2, 3), UNK, "int32"),
        **definitions_of(
            slots=np.array([[[1], [2], [3]], [[3], [2], [1]]], "int32"),
            glosses=[([A, C], 1), ([C, B], 2), ([D, A, C], 3)],
        ),
    }
    labels = np.array([[0, 1, 0], [0, 1, 0]])
    losses = [float(model.train_on_batch(arguments, labels)) for _ in range(30)]
    assert losses[-1] < 0.1 < losses[0]


def test_no_two_weights_start_alike():
    embedding = DefinitionEmbedding(
        V,
        E,
        reader="lstm",
        combine="transform",
        definition_vocabulary_size=V,
        spelling={"characters": V, "units": E},
    )
    embedding.build()
    weights = map(helpers.to_numpy, embedding.weights)
    starts = {x.tobytes() for x in weights if x.any()}
    assert len(starts) == 9  # 3 tables, 4 kernels of LSTMs, 2 of sources


def test_outputs_carry_no_mask():
    embedding = make_embedding(reader=None)
    assert embedding.supports_masking
    assert embedding.compute_mask(CONTEXT, CONTEXT != PAD) is None
    assert getattr(embedding(CONTEXT), "_keras_mask", None) is None


def test_errors_say_what_does_not_fit():
    def raises(message):
        return pytest.raises(ValueError, match=message)

    with raises("one of .*'mean'.*Received: 'sum'"):
        DefinitionEmbedding(V, E, reader="sum")
    with raises(r"table of the words must.*\(9, 6\).*\(9, 5\)"):
        DefinitionEmbedding(V, E, embeddings=np.zeros((V, 5)))
    with raises("definitions of size 5"):
        make_embedding(reader=LSTMReader(5))
    with raises("there is no `reader`"):
        make_embedding(reader=None)(CONTEXT, definitions_of())
    with raises("there is no `spelling`"):
        make_embedding()(CONTEXT, None, spellings_of())
    with raises("each of the 2 texts of `ids`. Received: slots of 1"):
        make_embedding()([CONTEXT, QUESTION], definitions_of())
