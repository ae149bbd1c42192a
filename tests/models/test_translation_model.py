import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import helpers
from tests.models import contract
from tfcopy import losses
from tfcopy.layers import PointerSoftmaxHead, SoftmaxHead
from tfcopy.models import translator

TINY = {"embedding_dim": 4, "units": 5}


def count(*args, **kwargs):
    """Number of parameters."""
    with contract.without_numbers():
        model = translator(*args, **kwargs)
    counts = {}
    for weight in model.weights:
        part = weight.path.split("/")[0]
        counts[part] = counts.get(part, 0) + int(np.prod(weight.shape))
    return counts, model.count_params()


# Check 1 of the numeric checks.


def test_parameters_of_the_translation_system():
    parts, total = count(30_000, 30_000, head="softmax")
    assert parts == {
        "source_embedding": 15_360_000,
        "target_embedding": 15_360_000,
        "encoder": 2 * 4_721_664,
        "initial_state": 2_098_176,
        "decoder": 20_457_473,
        "deep_output": 17_226_544 - parts["head"],
        "head": 512 * 30_000 + 30_000,
    }
    assert total == 79_945_521


def test_parameters_of_the_switch():
    _, total = count(30_000, 30_000, head="pointer_softmax")
    assert total == 79_945_521 + 1_836_545 + 2 * 512
    options = {"head": "pointer_softmax", "switch_activation": "relu"}
    _, total = count(30_000, 30_000, **options)
    assert total == 79_945_521 + 1_836_545


def test_sizes_can_be_chosen_apart():
    model = translator(
        8,
        9,
        encoder_units=3,
        attention_units=7,
        output_units=2,
        switch_units=6,
        **TINY,
    )
    assert model.encoder.units == 3
    assert model.cell.units == 5
    assert model.cell.attention.units == 7
    assert model.deep_output.units == 2
    assert model.head.switch_units == 6
    assert model.vocabulary_size == 9


def test_head_by_name_or_as_a_layer():
    assert type(translator(8, 9, head="softmax", **TINY).head) is SoftmaxHead
    head = PointerSoftmaxHead(9, pointer="separate")
    assert translator(8, 9, head=head, **TINY).head is head


def test_weights_of_the_base_system():
    model = translator(50, 60, embedding_dim=40, units=40,
                           initializers="dl4mt")  # fmt: skip
    kernels = {w.path: helpers.to_numpy(w.value) for w in model.weights}
    orthogonal = []
    for name, kernel in kernels.items():
        if kernel.ndim == 2 and kernel.shape[0] * 3 == kernel.shape[1]:
            for block in np.split(kernel, 3, axis=1):
                helpers.assert_close(block @ block.T, np.eye(40), atol=1e-4)
            orthogonal.append(name)
        elif kernel.ndim == 2 and kernel.shape != (80, 80):
            assert abs(kernel.std() - 0.01) < 0.003, name
        elif kernel.ndim == 1 and not name.endswith(("/p", "switch/bias")):
            assert not kernel.any(), name
    # Word and state kernels of both encoders and both transitions.
    assert len(orthogonal) == 4 + 3


def test_a_seed_repeats_the_dropout_and_the_noise():
    model = translator(8, 9, dropout=0.5, seed=11, **TINY)
    assert model.get_layer("source_dropout").seed == 11
    assert model.get_layer("target_dropout").seed == 12
    assert model.deep_output.seed == 11
    assert model.head.seed == 11


@pytest.mark.long
@pytest.mark.parametrize("decoder", ["gru", "transformer"])
def test_guided_attention_goes_where_the_links_are(decoder):
    """The words are random: nothing but the links can lead it there."""
    rng = np.random.default_rng(0)
    source = rng.integers(4, 12, (16, 5)).astype("int32")
    links = np.zeros((16, 5, 5), "float32")
    for target in range(5):
        links[:, target, (target + 2) % 5] = 1
    model = translator(
        12,
        12,
        head="pointer_softmax",
        embedding_dim=16,
        units=16,
        encoder_units=8,
        decoder=decoder,
        seed=0,
    )
    batch = {
        "source_ids": source,
        "source_copy_ids": source,
        "target_ids": rng.integers(4, 12, (16, 5)).astype("int32"),
        "alignment": links,
    }
    penalty = losses.GuidedAlignment(1.0)
    optimizer = keras.optimizers.Adam(0.02)

    @tf.function
    def update():
        with tf.GradientTape() as tape:
            distribution = model(batch)
            cost = tf.reduce_mean(penalty(batch, distribution))
        weights = model.trainable_variables
        pairs = zip(tape.gradient(cost, weights), weights, strict=True)
        optimizer.apply_gradients([x for x in pairs if x[0] is not None])
        return tf.reduce_sum(tf.exp(distribution.attention) * links, axis=-1)

    optimizer.build(model.trainable_variables)
    assert update().numpy().mean() < 0.4
    shares = [update().numpy().mean() for _ in range(120)]
    assert shares[-1] > 0.9, shares
