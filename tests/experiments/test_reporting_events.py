import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import (
    plugin_event_accumulator as event_accumulator,
)

from tfcopy.experiments import reporting

RESULTS = {
    "nmt": {
        "parameters": 1000,
        "updates": 40,
        "bleu": 12.5,
        "bleu_signature": "x",
        "perplexity": 9.0,
        "history": {"updates": [1]},
        "unk_replaced": {"bleu": 13.25},
        "seconds_training": 3.0,
        "target_tokens_per_second": 7,
        "chrf": float("nan"),
        "interval": [1.0, 2.0],
    },
    "ps": {"updates": 20, "bleu": 20.0, "copy_rate": 3, "after": None},
}


def read(folder):
    accumulator = event_accumulator.EventAccumulator(str(folder))
    accumulator.Reload()
    return {
        tag: [
            (x.step, tf.make_ndarray(x.tensor_proto).item())
            for x in accumulator.Tensors(tag)
        ]
        for tag in accumulator.Tags()["tensors"]
    }


def test_scores_of_the_test_stand_with_their_systems(tmp_path):
    for system in RESULTS:
        (tmp_path / system).mkdir()
    for _ in range(2):  # As a repeated run does.
        reporting.log_scores(tmp_path, RESULTS, of_dev=("perplexity",))
    assert read(tmp_path / "nmt") == {"test/bleu": [(40, 12.5)]}
    assert read(tmp_path / "ps") == {
        "test/bleu": [(20, 20.0)],
        "test/copy_rate": [(20, 3.0)],
    }
    found = read(tmp_path / "all_systems")
    ((_, text),) = found["results"]
    assert text.decode().splitlines() == [
        "|  | nmt | ps |",
        "| --- | --- | --- |",
        "| parameters | 1,000 |  |",
        "| updates | 40 | 20 |",
        r"| bleu | 12\.5 | 20 |",
        r"| perplexity | 9 |  |",
        r"| unk\_replaced/bleu | 13\.25 |  |",
        r"| seconds\_training | 3 |  |",
        r"| target\_tokens\_per\_second | 7 |  |",
        r"| copy\_rate |  | 3 |",
    ]
    ((_, layout),) = found["custom_scalars__config__"]
    assert b"test/copy_rate" in layout and b"perplexity" not in layout


def test_parts_of_a_run_have_their_own_scores(tmp_path):
    for part in ("words", "characters"):
        (tmp_path / part / "copynet").mkdir(parents=True)
    results = {
        "copynet": {
            "words": {"rouge1": 3.0, "perplexity": 2.0},
            "characters": {"rouge1": 4.0},
            "rouge1": 3.0,
        }
    }
    reporting.log_scores(tmp_path, results, of_dev=())
    for part, expected in (
        ("words", {"test/rouge1": [(0, 3.0)], "test/perplexity": [(0, 2.0)]}),
        ("characters", {"test/rouge1": [(0, 4.0)]}),
    ):
        assert read(tmp_path / part / "copynet") == expected
    assert not (tmp_path / "copynet").exists()


def test_a_run_within_is_no_part(tmp_path):
    """Although it has a part's name."""
    (tmp_path / "words" / "copynet").mkdir(parents=True)
    (tmp_path / "words" / "config.json").touch()
    results = {"copynet": {"words": {"rouge1": 3.0}}}
    reporting.log_scores(tmp_path, results, of_dev=())
    assert not any((tmp_path / "words" / "copynet").iterdir())


def test_scores_that_cannot_be_written_end_nothing(tmp_path, capsys):
    for system in RESULTS:
        (tmp_path / system).mkdir()
    (tmp_path / "all_systems").write_text("in the way")
    reporting.log_scores(tmp_path, RESULTS, of_dev=())
    assert "no more events are written" in capsys.readouterr().out


def test_pictures_of_a_run_do_not_replace_each_other(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tf.zeros((1, 4, 4, 4), tf.uint8)
    for name in ("one", "two", "two"):
        reporting.keep_picture(picture, str(tmp_path), name)
    accumulator = event_accumulator.EventAccumulator(
        str(tmp_path / "all_systems")
    )
    accumulator.Reload()
    assert {tag: len(accumulator.Tensors(tag)) for tag in ("one", "two")} == {
        "one": 1,
        "two": 1,
    }
    assert (tmp_path / "one.png").exists() and (tmp_path / "two.png").exists()
