"""Two replicas, or two processes, must end where one device ends."""

import numpy as np
import pytest
import tensorflow as tf

from tests.training import standin, training_process
from tests.training.running import assert_close, weights_of
from tfcopy import training


def start(output, environment=None, **options):
    return training_process.TrainingProcess(
        output.with_suffix(".txt"),
        environment,
        output=str(output),
        verbose=False,
        **options,
    )


def finish(process, output):
    assert process.finish() == 0, process.text
    with np.load(output) as archive:
        return [archive[name] for name in archive.files]


@pytest.fixture(
    scope="module",
    params=[
        {"name": "standin", "ema": 0.7, "average": "last"},
        {"score": "exact", **standin.CLASSIFIER},
        pytest.param({"name": "translator"}, marks=pytest.mark.slow),
        pytest.param({"name": "summarizer"}, marks=pytest.mark.slow),
    ],
    ids=lambda options: options["name"],
)
def one_device(request):
    """Options, and weights of one device that takes two batches an update."""
    options = request.param
    trainer = standin.make_trainer(accumulate=2, eval_every=10, **options)
    trainer.fit()
    return weights_of(trainer), options


@pytest.mark.long
def test_two_replicas_equal_one_device(tmp_path, one_device):
    output = tmp_path / "weights"
    expected, options = one_device
    process = start(output, num_cpus=2, eval_every=10, **options)
    assert_close(finish(process, output), expected, atol=1e-5)


@pytest.mark.long
def test_two_workers_equal_one_device(tmp_path, one_device):
    expected, options = one_device
    for weights in run_workers(tmp_path, **options):
        assert_close(weights, expected, atol=1e-5)


def run_workers(tmp_path, **options):
    """The weights of two workers, which start anew if they lost each other.

    A machine that stands still for seconds breaks a cluster. Workers that wait
    for each other without such a loss are in a deadlock, which is an error.
    """
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        options = {**options, "log_dir": str(folder / "logs")}
        processes = [
            start(folder / str(index), environment, eval_every=10, **options)
            for index, environment in enumerate(
                training_process.environments_of_workers()
            )
        ]
        try:
            return [
                finish(process, folder / str(index))
                for index, process in enumerate(processes)
            ]
        except (TimeoutError, AssertionError) as error:
            lost = ("heartbeat", "cannot be reached")
            if not any(word in x.text for x in processes for word in lost):
                raise
            reason = error
        finally:
            for process in processes:
                process.kill()
    raise TimeoutError(f"The workers lost each other three times: {reason}")


def test_choose_strategy_is_the_default_one_without_gpus():
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    assert training.choose_strategy() is tf.distribute.get_strategy()


@pytest.mark.parametrize("devices", ["cpus", "cpu:0", "gpu:", "gpu:a", "tpu"])
def test_devices_must_be_known(devices):
    with pytest.raises(ValueError, match=f"Received: devices='{devices}'"):
        training.choose_strategy(devices)


@pytest.mark.parametrize("devices", ["gpu", "gpu:0", "gpu:0,7"])
def test_gpus_must_be_there(devices):
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match="finds 0 GPUs here"):
        training.choose_strategy(devices)


def test_logical_cpus_must_be_asked_for_first():
    tf.config.list_logical_devices()
    with pytest.raises(RuntimeError, match="before TensorFlow has started"):
        training.choose_strategy("cpu:3")


@pytest.mark.parametrize("text", ["{", "[]", "worker"])
def test_a_cluster_is_json(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="TF_CONFIG must be a JSON object"):
        training.choose_strategy()
