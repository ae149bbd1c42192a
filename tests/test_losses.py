from types import SimpleNamespace

import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy import losses
from tfcopy.layers import BahdanauAttention, PointerSoftmaxHead, copying
from tfcopy.tokens import EOS, GENERATE, PAD, UNK, UNMATCHED

V, S = 6, 4
BATCH = {
    # The word of id 6 is "x" at 0 and 2; 5 is in the vocabulary and at 1.
    "source_copy_ids": np.array([[6, 5, 6, -1]], "int32"),
    "target_ids": np.array([[6, 5, UNK, EOS, PAD]], "int32"),
    "pointers": np.array([[0, GENERATE, UNMATCHED, GENERATE, -1]], "int32"),
}
SHORTLIST = np.array([0.05, 0.1, 0.05, 0.3, 0.2, 0.3])
LOCATION = np.array([0.5, 0.3, 0.2, 0.0])
SWITCH = 0.6


def distribution():
    return helpers.distribution_of(
        np.tile(SWITCH * SHORTLIST, (1, 5, 1)),
        np.tile((1 - SWITCH) * LOCATION, (1, 5, 1)),
    )


def test_generated_takes_copied_words_for_unk():
    helpers.assert_close(
        losses.generation_loss(BATCH, distribution())[:, :4],
        -np.log(SWITCH * SHORTLIST[[UNK, 5, UNK, EOS]])[None],
    )


def test_observed_pays_for_the_way_a_word_came():
    p = [0.4 * 0.5, 0.6 * 0.3, 0.4 * 0.5, 0.6 * 0.3]
    helpers.assert_close(
        losses.observed_copy_loss(BATCH, distribution())[:, :4], -np.log([p])
    )


def test_marginal_adds_up_all_ways():
    p = [0.4 * (0.5 + 0.2), 0.6 * 0.3 + 0.4 * 0.3, 0.6 * 0.1, 0.6 * 0.3]
    helpers.assert_close(
        losses.marginal_copy_loss(BATCH, distribution())[:, :4], -np.log([p])
    )


@pytest.mark.parametrize(
    "name", ["generation_loss", "observed_copy_loss", "marginal_copy_loss"]
)
def test_label_smoothing_mixes_in_the_cost_of_all_that_can_be_said(name):
    loss = getattr(losses, name)
    expected = helpers.to_numpy(loss(BATCH, distribution()))
    cost, penalty = losses.LabelSmoothing(loss, 0.1)(BATCH, distribution())
    words = 0.6 * SHORTLIST[EOS:] + [0.0, 0.0, 0.4 * 0.3]
    helpers.assert_close(cost, expected)
    helpers.assert_close(
        cost + penalty, 0.9 * expected - 0.1 * np.log(words).mean()
    )


@pytest.mark.parametrize(
    "name", ["generation_loss", "observed_copy_loss", "marginal_copy_loss"]
)
def test_smoothing_leaves_the_gradient_of_the_loss_as_it_is(name):
    loss = getattr(losses, name)
    split = distribution()

    def gradient_of(loss):
        def cost(logits):
            return ops.sum(loss(BATCH, split._replace(generate_logits=logits)))

        return helpers.gradients(cost, split.generate_logits)[1]

    smoothing = losses.LabelSmoothing(loss, 0.1)
    smoothed = gradient_of(lambda *x: smoothing(*x)[0])
    helpers.assert_close(smoothed, gradient_of(loss))


def test_smoothing_looks_up_only_the_words_that_it_is_asked_for():
    def other(batch, distribution):
        ids = np.roll(batch["target_ids"], 1, axis=1)
        return -copying.generate_log_probs(distribution, ids)

    cost, _ = losses.LabelSmoothing(other, 0.1)(BATCH, distribution())
    helpers.assert_close(cost, other(BATCH, distribution()))


@pytest.mark.parametrize("copied", [0.0, 0.3, 0.9])
def test_label_smoothing_is_the_same_however_a_word_is_said(copied):
    # The word of id 5 has 0.6 in all, some of it at two of its positions.
    generated = [0.05, 0.03, 0.02, 0.2, 0.1, 0.6 * (1 - copied)]
    generated = np.array([[generated]])
    location = np.array([[[0.6 * copied * 0.25, 0, 0.6 * copied * 0.75]]])
    batch = {
        "source_copy_ids": np.array([[5, 7, 5]], "int32"),
        "target_ids": np.array([[5]], "int32"),
    }
    smoothing = losses.LabelSmoothing(losses.marginal_copy_loss, 0.1)
    helpers.assert_close(
        smoothing(batch, helpers.distribution_of(generated, location))[1],
        [[0.1 * (np.log(0.6) - np.log([0.2, 0.1, 0.6]).mean())]],
    )


def test_label_smoothing_of_words_that_nothing_points_at():
    # The weights of pointing are zero in float32, as in a baseline.
    split = helpers.distribution_of(
        np.tile(SHORTLIST, (1, 5, 1)), np.zeros((1, 5, S))
    )
    smoothing = losses.LabelSmoothing(losses.generation_loss, 0.1)

    def cost(x):
        logits, copied = x
        changed = split._replace(generate_logits=logits, copy_log_probs=copied)
        return ops.sum(smoothing(BATCH, changed)[1])

    _, found, _ = helpers.gradients(
        cost, (split.generate_logits, split.copy_log_probs)
    )
    for gradient in found:
        assert np.isfinite(helpers.to_numpy(gradient)).all()


def test_penalties_add_up():
    penalty = losses.total([losses.CoveragePenalty(), lambda *_: 2.0])
    expected = losses.CoveragePenalty()(BATCH, distribution()) + 2.0
    helpers.assert_close(penalty(BATCH, distribution()), expected)
    assert losses.total([]) is None


def test_marginal_is_what_keras_hub_calls_perplexity():
    metric = keras_hub.metrics.Perplexity(mask_token_id=PAD)
    words = copying.merge(distribution(), BATCH["source_copy_ids"])
    metric.update_state(BATCH["target_ids"], ops.exp(words))
    nll = losses.marginal_copy_loss(BATCH, distribution())[:, :4]
    helpers.assert_close(metric.result(), ops.exp(ops.mean(nll)), 1e-4)


@pytest.mark.parametrize(
    "loss", ["generation_loss", "observed_copy_loss", "marginal_copy_loss"]
)
def test_padding_costs_something_finite(loss):
    nll = helpers.to_numpy(getattr(losses, loss)(BATCH, distribution()))
    assert nll.shape == (1, 5)
    assert nll.dtype == "float32"
    assert np.isfinite(nll).all()


@pytest.mark.parametrize("bias, cost", [(1.0, 0.313262), (-1.0, 1.313262)])
def test_cost_of_an_untrained_switch(bias, cost):
    """Check 6 of the numeric checks, with zero weights."""
    head = PointerSoftmaxHead(V, switch_bias=bias, kernel_initializer="zeros")
    x = np.ones((1, 1, 3), "float32")
    split = head(
        x,
        {
            "state": x,
            "context": x,
            "attention": np.full((1, 1, S), -np.log(S), "float32"),
        },
        annotations=np.ones((1, S, 3), "float32"),
        source_mask=np.ones((1, S), "bool"),
    )
    batch = {k: x[:, 3:4] for k, x in BATCH.items()}
    batch["source_copy_ids"] = BATCH["source_copy_ids"]
    helpers.assert_close(
        losses.observed_copy_loss(batch, split), [[cost + np.log(V)]]
    )


class TestGradientsOfALabel:
    """Check 15 of the numeric checks, on one step of attention and head."""

    def gradients(self, pointer):
        """Largest gradients by name, and the gradients in the same order."""
        keras.utils.set_random_seed(0)
        rng = np.random.default_rng(0)
        query, value = rng.normal(size=(1, 1, 3)), rng.normal(size=(1, S, 5))
        inputs = {"query": query.astype("f"), "value": value.astype("f")}
        mask = np.array([[True] * S])
        attention = BahdanauAttention(4)
        head = PointerSoftmaxHead(V)
        batch = {
            "source_copy_ids": np.array([[4, 6, 7, -1]], "int32"),
            "target_ids": np.array([[UNK]], "int32"),
            "pointers": np.array([[pointer]], "int32"),
        }

        def cost(x):
            context, weights = attention(**x, value_mask=mask)
            split = head(
                context,
                {
                    "state": x["query"],
                    "context": context,
                    "attention": ops.log(weights),
                },
                annotations=x["value"],
                source_mask=mask,
            )
            return ops.sum(losses.observed_copy_loss(batch, split))

        cost(inputs)
        variables = {
            "kernel": head.kernel,
            "bias": head.bias,
            "switch": head.switch.bias,
            "attention": attention.score_kernel,
        }
        _, _, actual = helpers.gradients(cost, inputs, [*variables.values()])
        sizes = [
            0.0 if g is None else float(np.abs(helpers.to_numpy(g)).max())
            for g in actual
        ]
        return dict(zip(variables, sizes)), actual

    def test_pointing_leaves_the_shortlist_alone(self):
        size, _ = self.gradients(pointer=1)
        assert size["kernel"] == size["bias"] == 0.0
        assert size["switch"] > 1e-3 and size["attention"] > 1e-3

    def test_generating_reaches_the_attention_through_the_context(self):
        size, _ = self.gradients(pointer=GENERATE)
        assert min(size.values()) > 1e-4

    def test_an_unmatched_label_is_a_constant(self):
        """It moves what the label that the argmax gives would move."""
        _, unmatched = self.gradients(UNMATCHED)
        each = [self.gradients(position)[1] for position in range(3)]
        distances = sorted(
            float(np.abs(helpers.to_numpy(actual[3] - unmatched[3])).max())
            for actual in each
        )
        assert distances[0] < 1e-6 < 1e-3 < distances[1]


class TestCoverage:
    def test_by_hand(self):
        """Check 5 of the pointer-generator's numeric checks."""
        weights = np.array([[[0.5, 0.5], [0.9, 0.1], [0.0, 1.0]]])
        attention = np.log(np.maximum(weights, 1e-30)).astype("float32")
        costs = losses.coverage(ops.convert_to_tensor(attention))
        helpers.assert_close(costs, [[0.0, 0.6, 0.6]])

    def test_of_uniform_attention(self):
        attention = np.full((1, 50, 7), -np.log(7), "float32")
        costs = helpers.to_numpy(losses.coverage(attention))
        helpers.assert_close(costs[0, 1:], np.ones(49))
        helpers.assert_close(costs.mean(), 0.98)

    def test_looking_at_each_place_once_is_free(self):
        attention = np.where(np.eye(4)[None] > 0, 0.0, copying.MASKED)
        costs = losses.coverage(ops.convert_to_tensor(attention, "float32"))
        helpers.assert_close(costs, np.zeros((1, 4)))

    def test_the_penalty_can_be_switched_off(self):
        enabled = keras.Variable(0.0)
        penalty = losses.CoveragePenalty(2.0, enabled)
        split = helpers.distribution_of(
            np.full((1, 3, 2), 0.25), np.full((1, 3, 2), 0.25)
        )
        split = split._replace(attention=split.copy_log_probs)
        helpers.assert_close(penalty({}, split), np.zeros((1, 3)))
        enabled.assign(1.0)
        helpers.assert_close(penalty({}, split), [[0.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    "name",
    [
        *("generation_loss", "observed_copy_loss", "marginal_copy_loss"),
        "smoothing",
    ],
)
def test_restricted_to_the_candidates(name):
    # The vocabulary has ten words; 9 and the special ones are candidates, 7
    # can only be copied now, 8 not even that.
    loss = losses.LabelSmoothing(losses.marginal_copy_loss, 0.1)
    if name != "smoothing":
        loss = getattr(losses, name)
    batch = {
        "source_copy_ids": np.array([[9, 7, 12, 7, -1]], "int32"),
        "target_ids": np.array([[9, 7, 12, 8, EOS, PAD]], "int32"),
        "pointers": np.array([[-1, 1, 2, -1, -1, -1]], "int32"),
        "candidate_ids": np.array([0, 1, 2, 3, 9], "int32"),
    }
    mass = np.random.default_rng(0).gamma(1.0, size=(1, 6, 5 + 5))
    mass /= mass.sum(-1, keepdims=True)
    small = helpers.distribution_of(mass[..., :5], mass[..., 5:])
    renumbered = {
        "source_copy_ids": np.array([[4, 6, 7, 6, -1]], "int32"),
        "target_ids": np.array([[4, 6, 7, UNK, EOS, PAD]], "int32"),
        "pointers": batch["pointers"],
    }
    helpers.assert_close(
        losses.restrict_loss(loss, 10)(batch, small), loss(renumbered, small)
    )


def test_restricted_without_candidates_is_the_loss():
    helpers.assert_close(
        losses.restrict_loss(losses.marginal_copy_loss, V)(
            BATCH, distribution()
        ),
        losses.marginal_copy_loss(BATCH, distribution()),
    )


def numpy_log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def test_a_span_costs_its_start_and_its_end():
    logits = np.random.default_rng(0).normal(size=(2, 2, 4)).astype("float32")
    logits[:, 1, 2:] = -1e9  # padding
    batch = {"start": np.array([1, 0]), "end": np.array([3, 1])}
    log_probs = numpy_log_softmax(logits.astype("float64"))
    expected = [
        -log_probs[0, i, batch["start"][i]] - log_probs[1, i, batch["end"][i]]
        for i in range(2)
    ]
    actual = losses.span(batch, {"start": logits[0], "end": logits[1]})
    helpers.assert_close(actual, np.array(expected)[:, None])


def test_a_label_costs_what_its_class_does():
    logits = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    labels = np.array([2, 0, 1, 0], "int32")
    expected = -numpy_log_softmax(logits)[np.arange(4), labels]
    actual = losses.label({"label": labels}, logits)
    helpers.assert_close(actual, expected[:, None])


def test_unknown_words_of_a_text_cost_as_others():
    logits = np.random.default_rng(0).normal(size=(1, 3, V)).astype("float32")
    batch = {"target_ids": np.array([[5, UNK, PAD]], "int32")}
    expected = -numpy_log_softmax(logits)[:, [0, 1], [5, UNK]]
    actual = losses.next_word(batch, logits)
    assert actual.shape == (1, 3)
    helpers.assert_close(actual[:, :2], expected)


def test_guided_alignment_equals_the_equation():
    """`-w sum_j A_tj log a_tj`, and nothing without an alignment."""
    rng = np.random.default_rng(0)
    attention = rng.dirichlet(np.ones(5), (2, 3)).astype("float32")
    distribution = SimpleNamespace(attention=np.log(attention))
    links = rng.integers(0, 2, (2, 3, 5)).astype("float32")
    links[0, 1] = 0
    batch = {"target_ids": np.ones((2, 3), "int32"), "alignment": links}
    penalty = losses.GuidedAlignment(0.3)
    expected = -0.3 * (links * np.log(attention)).sum(-1)
    found = helpers.to_numpy(penalty(batch, distribution))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found[0, 1] == 0
    del batch["alignment"]
    found = helpers.to_numpy(penalty(batch, distribution))
    assert found.shape == (2, 3) and not found.any()
