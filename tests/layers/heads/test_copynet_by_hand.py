"""CopyNet's check 10: three steps of the whole decoder, done by hand."""

import numpy as np
import pytest

from tests import helpers
from tfcopy.layers import (
    BahdanauAttention,
    CopyNetHead,
    Decoder,
    Readout,
    SelectiveReadGRUCell,
    copying,
)
from tfcopy.layers.copying import MASKED
from tfcopy.layers.decoder import TeacherForcing
from tfcopy.tokens import BOS, EOS, NO_COPY, PAD, UNK

# PAD, UNK, BOS, EOS and two words; c, the third, is outside the vocabulary.
V, A, C = 6, 4, 7
SOURCE = np.array([[A, C, C]], "int32")
TARGET = np.array([[A, C, EOS]], "int32")


def make_decoder():
    """One unit each; the GRU reads a sum, and has no biases."""
    attention = BahdanauAttention(1)
    cell = SelectiveReadGRUCell(1, attention)
    cell.build((None, None, 1), (None, None, 2))
    attention.query_kernel.assign([[0.5]])
    attention.value_projection.kernel.assign([[1.0], [-1.0]])
    attention.score_kernel.assign([[1.0]])
    reset_update_candidate = np.array([[0.2, 0.1, 0.3]])
    cell.kernel.assign(np.tile(reset_update_candidate, (5, 1)))
    cell.recurrent_kernel.assign(reset_update_candidate)
    cell.copy_kernel.assign([[1.0], [-0.5]])
    return Decoder(cell)


def make_head(decoded):
    head = CopyNetHead(V)
    shapes = {name: x.shape for name, x in decoded.items()}
    head.build((1, 3, 1), shapes, (1, 3, 2))
    scores = {EOS: 0.2, A: 1.0, 5: -0.5, UNK: 0.1}
    head.kernel.assign([[scores.get(word, 0.0) for word in range(V)]])
    # No word of the paper's vocabulary.
    head.bias.assign([MASKED if w in (PAD, BOS) else 0.0 for w in range(V)])
    return head


def decode(mask):
    """Returns the decoder's outputs and the distribution."""
    embeddings = np.zeros(V, "float32")
    embeddings[[A, UNK]] = 0.4, -0.2
    mask = np.array([mask])
    source = np.where(mask, SOURCE, NO_COPY).astype("int32")
    ids, matches = TeacherForcing(V)(TARGET, source)
    annotations = np.array([[[1, 0], [0, 1], [1, 1]]], "float32")
    decoded = make_decoder()(
        embeddings[helpers.to_numpy(ids)][..., None],
        annotations,
        mask,
        matches,
        np.array([[0.5]], "float32"),
    )
    distribution = make_head(decoded)(
        Readout()(decoded), decoded, annotations, mask
    )
    return decoded, distribution, source


def test_all_positions():
    decoded, distribution, source = decode([True] * 3)
    helpers.assert_close(
        np.exp(helpers.to_numpy(decoded["attention"]))[0],
        [
            [0.563753, 0.127892, 0.308355],
            [0.565403, 0.127789, 0.306808],
            [0.558300, 0.128351, 0.313350],
        ],
    )
    helpers.assert_close(
        decoded["context"],
        [[[0.872108, 0.436247], [0.872211, 0.434597], [0.871649, 0.441700]]],
    )
    states = [[[0.475882], [0.578225], [0.643359]]]
    helpers.assert_close(decoded["hidden"], states)
    log_p = copying.marginal_log_likelihood(distribution, TARGET, source)
    log_p = helpers.to_numpy(log_p)
    helpers.assert_close(log_p, [[-0.969479, -1.392517, -2.017597]])
    helpers.assert_close(np.exp(log_p), [[0.379281, 0.248449, 0.132975]])
    assert log_p.sum() == pytest.approx(-4.379593, abs=1e-5)


def test_the_last_position_masked():
    decoded, distribution, source = decode([True, True, False])
    states = [[[0.438964], [0.536603], [0.548793]]]
    helpers.assert_close(decoded["hidden"], states)
    log_p = copying.marginal_log_likelihood(distribution, TARGET, source)
    log_p = helpers.to_numpy(log_p)
    helpers.assert_close(np.exp(log_p), [[0.439746, 0.112634, 0.160381]])
    assert log_p.sum() == pytest.approx(-4.835373, abs=1e-5)
