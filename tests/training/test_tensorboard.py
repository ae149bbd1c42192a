import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import (
    plugin_event_accumulator as event_accumulator,
)

from tests.training import standin
from tfcopy import training
from tfcopy.training.tensorboard import EventLog


def read(folder):
    accumulator = event_accumulator.EventAccumulator(
        str(folder), size_guidance={"tensors": 0}
    )
    accumulator.Reload()
    return accumulator


def values_of(accumulator, tag):
    return [
        (event.step, float(tf.make_ndarray(event.tensor_proto)))
        for event in accumulator.Tensors(tag)
    ]


def test_run_writes_its_scalars(tmp_path):
    trainer = standin.make_trainer(
        log_dir=tmp_path,
        log_every=5,
        eval_every=10,
        metrics=standin.metrics,
        on_eval=lambda step, writer: training.log_examples(
            writer, step, [(["a"], ["a"], [True], None)]
        ),
    )
    trainer.fit()
    accumulator = read(tmp_path)
    train = values_of(accumulator, "train/loss")
    assert [step for step, _ in train] == [5, 10, 15, 20]
    assert set(accumulator.Tags()["tensors"]) >= {
        "train/perplexity",
        "train/gradient_norm",
        "train/target_tokens_per_second",
        "train/learning_rate",
        "train/copied",
        "dev/loss",
        "dev/perplexity",
        "dev/copied",
        "examples",
    }


def test_scalars_of_examples_have_their_own_names(tmp_path):
    trainer = standin.make_trainer(
        log_dir=tmp_path,
        steps=10,
        score_predictions=lambda predictions: {"exact": 25.0},
        **standin.CLASSIFIER,
    )
    trainer.fit()
    accumulator = read(tmp_path)
    assert set(accumulator.Tags()["tensors"]) == {
        "train/loss",
        "train/gradient_norm",
        "train/examples_per_second",
        "train/learning_rate",
        "train/accuracy",
        "dev/loss",
        "dev/accuracy",
        "dev/exact",
    }
    assert values_of(accumulator, "dev/exact") == [(7, 25.0), (10, 25.0)]


def test_resumed_run_has_no_step_twice(tmp_path):
    for first, last, offset in ((1, 10, 0), (6, 12, 100)):
        log = EventLog(tmp_path, first_step=first)
        for step in range(first, last + 1):
            log.scalars(step, {"loss": step + offset})
        log.close()
    expected = [(step, step) for step in range(1, 6)]
    expected += [(step, step + 100) for step in range(6, 13)]
    assert values_of(read(tmp_path), "loss") == expected


def test_fresh_run_removes_old_events(tmp_path):
    log = EventLog(tmp_path)
    log.scalars(1, {"loss": 1.0})
    log.close()
    EventLog(tmp_path, fresh=True).close()
    assert not read(tmp_path).Tags()["tensors"]


def test_examples_mark_copied_words_and_escape_the_rest(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    example = (["x|y", "<b>"], ["*a*", "x|y"], [False, True], ["c"])
    training.log_examples(writer, 3, [example])
    writer.close()
    (event,) = read(tmp_path).Tensors("examples")
    text = tf.make_ndarray(event.tensor_proto).item().decode()
    assert event.step == 3
    row = r"| x\|y &lt;b\> | \*a\* **x\|y** | c |"
    assert text.splitlines()[-1] == row


def test_projector_shows_the_words(tmp_path):
    """Asks TensorBoard's own projector page for the data it draws."""
    from tensorboard.backend.event_processing import (
        data_provider,
        plugin_event_multiplexer,
    )
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.projector import projector_plugin
    from werkzeug import test, wrappers

    matrix = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    words = ["<pad>", "été", "a\tb", "词", " "]
    log = EventLog(tmp_path / "run")
    log.scalars(1, {"loss": 1.0})
    log.close()
    training.log_embeddings(tmp_path / "run", {"source words": (matrix, words)})
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    context = base_plugin.TBContext(
        logdir=str(tmp_path),
        data_provider=data_provider.MultiplexerDataProvider(
            multiplexer, str(tmp_path)
        ),
    )
    plugin = projector_plugin.ProjectorPlugin(context)
    plugin._determine_is_active()
    apps = plugin.get_plugin_apps()

    def get(route, **query):
        client = test.Client(apps[route], wrappers.Response)
        response = client.get(route, query_string=query)
        assert response.status_code == 200, response.data
        return response

    (info,) = get("/info", run="run").json["embeddings"]
    assert info["tensorShape"] == [5, 3]
    query = {"run": "run", "name": info["tensorName"]}
    tensor = np.frombuffer(get("/tensor", **query).data, np.float32)
    np.testing.assert_array_equal(tensor.reshape(5, 3), matrix)
    shown = get("/metadata", **query).data.decode().splitlines()
    assert shown == ["<pad>", "été", "a b", "词", "' '"]


def test_projector_needs_a_row_for_each_word(tmp_path):
    with pytest.raises(ValueError, match="3 words and 2 rows"):
        training.log_embeddings(tmp_path, {"e": (np.zeros((2, 4)), "abc")})
