"""Dev scores of a run, told and compared."""

import types

import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import plugin_event_accumulator

from tfcopy.experiments import learning_curves, reporting

RESULTS = {
    "nmt": {"history": {"updates": [5, 10, 15], "nll": [9.0, 4.0, 4.5]}},
    "copynet": {"history": {"updates": [5, 10, 15], "nll": [4.0, 2.0, 1.0]}},
    "slow": {"history": {"updates": [5, 10, 15], "nll": [9.0, 8.0, 7.0]}},
}


def encoded(num_tokens, num_pairs):
    class Encoded:
        num_target_tokens = num_tokens

        def __len__(self):
            return num_pairs

    return Encoded()


def test_history_is_nats_a_target():
    result = types.SimpleNamespace(dev_history=[(5, 2.0), (10, 0.5)])
    found = learning_curves.history(result, encoded(30, 10))
    assert found == {"updates": [5, 10], "nll": [6.0, 1.5]}


def test_history_of_nothing():
    empty = {"updates": [], "nll": []}
    result = types.SimpleNamespace(dev_history=[])
    assert learning_curves.history(result, encoded(1, 1)) == empty
    learning_curves.print_lead({"nmt": {"history": empty}})


def test_lead_is_told(capsys):
    learning_curves.print_lead(RESULTS)
    assert capsys.readouterr().out.splitlines() == [
        f"nmt's best dev score, 4 nats per target after 10 updates, was {what}."
        for what in (
            "reached by copynet after 5",
            "not reached by slow, whose best is 7",
        )
    ]


def test_picture_is_on_disk_and_in_tensorboard(tmp_path):
    pytest.importorskip("matplotlib")
    learning_curves.draw(RESULTS, str(tmp_path), "nats per sentence")
    image = tf.io.decode_png((tmp_path / "dev_nll.png").read_bytes())
    assert image.shape[:2] == (400, 500)
    events = plugin_event_accumulator.EventAccumulator(
        str(tmp_path / "all_systems")
    )
    events.Reload()
    assert events.Tags()["tensors"] == ["dev_nll"]


def test_without_matplotlib_nothing_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_curves, "figures", None)
    learning_curves.draw(RESULTS, str(tmp_path), "nats per sentence")
    assert not list(tmp_path.iterdir())


def test_full_disk_ends_nothing(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        reporting, "figures", types.SimpleNamespace(save_png=full)
    )
    learning_curves.draw(RESULTS, str(tmp_path), "nats per sentence")
    assert "no more events are written" in capsys.readouterr().out
