import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import (
    plugin_event_accumulator as event_accumulator,
)

from tests.training import standin
from tfcopy import training
from tfcopy.training import tensorboard
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


def write(folder, step, scalars, prefix="", **options):
    """Writes the scalars of a step into a log of its own."""
    log = EventLog(folder, **options)
    log.scalars(step, scalars, prefix=prefix)
    log.close()


def test_run_writes_its_scalars(tmp_path):
    standin.make_trainer(
        log_dir=tmp_path,
        log_every=5,
        eval_every=10,
        metrics=standin.metrics,
        on_eval=lambda step, writer: training.log_examples(
            writer, step, [(["a"], ["a"], [True], None)]
        ),
    ).fit()
    accumulator = read(tmp_path)
    train = values_of(accumulator, "train/loss")
    assert [step for step, _ in train] == [5, 10, 15, 20]
    assert set(accumulator.Tags()["tensors"]) >= {
        *("train/perplexity", "train/gradient_norm"),
        *("train/target_tokens_per_second", "train/learning_rate"),
        *("train/copied", "dev/loss", "dev/perplexity", "dev/copied"),
        "examples",
    }


def test_scalars_of_examples_have_their_own_names(tmp_path):
    standin.make_trainer(log_dir=tmp_path, steps=10, **standin.CLASSIFIER).fit()
    tags = {*read(tmp_path).Tags()["tensors"]}
    assert {"train/examples_per_second", "dev/accuracy", "dev/exact"} <= tags
    assert not any("perplexity" in tag or "tokens" in tag for tag in tags)


def test_resumed_run_has_no_step_twice(tmp_path):
    for first, last, offset in ((1, 10, 0), (6, 12, 100)):
        log = EventLog(tmp_path, first_step=first)
        for step in range(first, last + 1):
            log.scalars(step, {"loss": step + offset})
        log.close()
    expected = [(step, step) for step in range(1, 6)]
    expected += [(step, step + 100) for step in range(6, 13)]
    assert values_of(read(tmp_path), "loss") == expected


@pytest.mark.long
def test_weights_that_are_scored_again_are_shown_once(tmp_path):
    """A kill between a checkpoint and the best weights repeats a score."""
    options = {"log_dir": tmp_path, "eval_every": 5, "save_every": 5}
    standin.make_trainer(steps=10, **options).fit()
    (tmp_path / "checkpoints" / "best.npz").unlink()
    standin.make_trainer(steps=15, **options).fit()
    dev = values_of(read(tmp_path), "dev/loss")
    assert [step for step, _ in dev] == [5, 10, 15]


def test_fresh_run_removes_old_events(tmp_path):
    write(tmp_path, 1, {"loss": 1.0})
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
    assert text.splitlines()[-1] == r"| x\|y &lt;b\> | \*a\* **x\|y** | c |"


def test_table_escapes_what_is_not_marked(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    rows = [("a*b", ["c", "|"]), (tensorboard.Marked("**x**"), "")]
    tensorboard.log_table(writer, 0, ("one", "two"), rows, "table")
    writer.close()
    (event,) = read(tmp_path).Tensors("table")
    assert tf.make_ndarray(event.tensor_proto).item().decode().split("\n") == [
        "| one | two |",
        "| --- | --- |",
        r"| a\*b | c \| |",
        "| **x** |  |",
    ]


def test_scalars_say_what_they_mean(tmp_path):
    write(tmp_path, 1, {"loss": 1.0, "new": 2.0}, prefix="dev/")
    metadata = read(tmp_path).SummaryMetadata
    assert "nats" in metadata("dev/loss").summary_description
    assert metadata("dev/new").summary_description == ""
    assert "percent" in tensorboard.describe("test/bleu")
    assert "percent" not in tensorboard.describe("test/perplexity")


def test_later_files_forget_nothing(tmp_path):
    write(tmp_path, 8, {"dev/loss": 3.0})
    for value in (1.0, 2.0):
        for name in ("test", "other"):
            write(tmp_path, 8, {f"{name}/score": value}, fresh=True, name=name)
    accumulator = read(tmp_path)
    assert values_of(accumulator, "dev/loss") == [(8, 3.0)]
    for name in ("test", "other"):
        assert values_of(accumulator, f"{name}/score") == [(8, 2.0)]
    EventLog(tmp_path, fresh=True).close()
    assert not read(tmp_path).Tags()["tensors"]


def plugin(kind, folder):
    """Function that asks a page of TensorBoard for the data it draws."""
    from tensorboard.backend.event_processing import (
        data_provider,
        plugin_event_multiplexer,
    )
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.scalar import scalars_plugin
    from werkzeug import test, wrappers

    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    context = base_plugin.TBContext(
        logdir=str(folder),
        data_provider=data_provider.MultiplexerDataProvider(
            multiplexer, str(folder)
        ),
        plugin_name_to_instance={},
    )
    context.plugin_name_to_instance["scalars"] = scalars_plugin.ScalarsPlugin(
        context
    )
    page = kind(context)
    if hasattr(page, "_determine_is_active"):
        page._determine_is_active()
    apps = page.get_plugin_apps()

    def get(route, **query):
        client = test.Client(apps[route], wrappers.Response)
        response = client.get(route, query_string=query)
        assert response.status_code == 200, response.data
        return response

    return get


def test_charts_of_all_systems_stand_on_one_page(tmp_path):
    """Asks TensorBoard's own page of custom scalars."""
    from tensorboard.plugins.custom_scalar import custom_scalars_plugin

    own = {"one": "copied_words", "three": "unheard_of"}
    for system in ("one", "two", "three"):
        log = EventLog(tmp_path / system)
        log.scalars(5, {"loss": 3.0, "learning_rate": 1.0}, prefix="train/")
        values = dict.fromkeys(["loss", *own.get(system, "").split()], 2.0)
        log.scalars(10, values | {"perplexity": 7.4}, prefix="dev/")
        log.close()
    log = EventLog(tmp_path / "all_systems", name="results")
    log.layout(0, {"test/bleu"})
    log.close()
    get = plugin(custom_scalars_plugin.CustomScalarsPlugin, tmp_path)
    found = {
        category["title"]: {
            chart["title"]: chart["multiline"]["tag"][0]
            for chart in category["chart"]
        }
        for category in get("/layout").json["category"]
    }
    assert {title: list(charts) for title, charts in found.items()} == {
        "Validation": [
            "dev: perplexity",
            "dev: loss (nats)",
            "dev: copied words (0 to 1)",
            "dev: unheard of",
        ],
        "Training": ["train: loss (nats)", "train: learning rate"],
        "Test": ["test: bleu"],
    }
    pattern = found["Validation"]["dev: loss (nats)"]
    for run in ("one", "two", "three"):
        series = get("/scalars", run=run, tag=pattern).json["tag_to_events"]
        assert list(series) == ["dev/loss"]
        ((_, step, value),) = series["dev/loss"]
        assert (step, value) == (10, 2.0)


def test_projector_shows_the_words(tmp_path):
    """Asks TensorBoard's own projector page for the data it draws."""
    from tensorboard.plugins.projector import projector_plugin

    matrix = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    words = ["<pad>", "été", "a\tb", "词", " "]
    write(tmp_path / "run", 1, {"loss": 1.0})
    training.log_embeddings(tmp_path / "run", {"source words": (matrix, words)})
    get = plugin(projector_plugin.ProjectorPlugin, tmp_path)
    (info,) = get("/info", run="run").json["embeddings"]
    assert info["tensorName"] == "source_words"
    assert info["tensorShape"] == [5, 3]
    query = {"run": "run", "name": info["tensorName"]}
    tensor = np.frombuffer(get("/tensor", **query).data, np.float32)
    np.testing.assert_array_equal(tensor.reshape(5, 3), matrix)
    shown = get("/metadata", **query).data.decode().splitlines()
    assert shown == ["<pad>", "été", "a b", "词", "' '"]


def test_words_without_a_vector_are_left_out(tmp_path):
    matrix = np.array([[0, 0], [1, 2], [0, 3], [0, 0]], np.float32)
    training.log_embeddings(tmp_path, {"e": (matrix, "abcd")})
    assert (tmp_path / "metadata_e.tsv").read_text() == "b\nc\n"
    reader = tf.train.load_checkpoint(str(tmp_path))
    np.testing.assert_array_equal(reader.get_tensor("e"), matrix[1:3])
