import os

import keras
import numpy as np
import pytest

from tests.training import running, standin
from tfcopy import training
from tfcopy.training.checkpoints import Checkpoints
from tfcopy.training.saver import mean_weights

OPTIONS = {"steps": 12, "eval_every": 2, "save_every": 3, "accumulate": 2}
EMA = 0.7
ROUNDING = {"rtol": 1e-5, "atol": 1e-7}
BEST = {"ema": EMA, "average": "best", "average_of": 3}


def make(**options):
    """A trainer, and the weights of each of its dev scores by update."""
    seen = {}

    def on_eval(update, writer):
        seen[update] = running.weights_of(trainer)

    trainer = standin.make_trainer(on_eval=on_eval, **OPTIONS | options)
    return trainer, seen


def run(**options):
    """Trains what `make` returns; returns it and the `Result`."""
    trainer, seen = make(**options)
    return trainer, seen, trainer.fit()


@pytest.fixture(scope="module")
def plain():
    """The weights after each update, without any average."""
    return run(eval_every=1)[1]


@pytest.fixture(scope="module")
def best(tmp_path_factory):
    """A run that ends with the mean of its three best moving averages."""
    folder = tmp_path_factory.mktemp("best")
    return folder, *run(log_dir=folder, **BEST)


def test_means_are_made_in_float64():
    several = np.random.default_rng(0).normal(size=(7, 2, 3)).astype(np.float32)
    (mean, count) = mean_weights(
        [[x, np.array(i)] for i, x in enumerate(several)]
    )
    assert mean.dtype == np.float32 and count == 6
    expected = several.astype(np.float64).mean(axis=0).astype(np.float32)
    np.testing.assert_array_equal(mean, expected)


def moving_averages(plain):
    """`average = m average + (1 - m) weight`, from the first weight on."""
    averages = {1: plain[1]}
    for update in range(2, 13):
        averages[update] = [
            EMA * average + (1 - EMA) * weight
            for average, weight in zip(averages[update - 1], plain[update])
        ]
    return averages


def test_scores_are_those_of_the_moving_average(plain, best):
    _, _, seen, _ = best
    expected = moving_averages(plain)
    assert list(seen) == [2, 4, 6, 8, 10, 12]
    for update, weights in seen.items():
        running.assert_close(weights, expected[update], **ROUNDING)


def test_the_best_weights_are_averaged(best):
    folder, trainer, seen, result = best
    scores = dict(result.dev_history)
    chosen = sorted(sorted(scores, key=scores.get)[:3])
    assert result.averaged_updates == chosen
    expected = mean_weights([seen[update] for update in chosen])
    running.assert_same_bits(running.weights_of(trainer), expected)
    nll = trainer.evaluate(standin.dev_data).nll
    assert nll == result.best_dev_nll not in scores.values()
    # What exports load.
    fresh = standin.make_trainer()
    Checkpoints(folder / "checkpoints").load_weights(fresh.model)
    running.assert_same_bits(running.weights_of(fresh), expected)


def test_the_newest_weights_are_the_moving_average(best):
    folder, _, seen, _ = best
    fresh = standin.make_trainer()
    Checkpoints(folder / "checkpoints").load_weights(fresh.model, newest=True)
    running.assert_same_bits(running.weights_of(fresh), seen[12])


def test_no_more_is_kept_than_is_needed(best):
    folder, _, _, result = best
    names = set(os.listdir(folder / "checkpoints"))
    scored = {f"scored-0-{x:09d}.npz" for x in result.averaged_updates}
    newest = {f"checkpoint-{x:09d}.npz" for x in (9, 12)}
    others = {name for name in names if name.startswith("scored")} - scored
    assert names == newest | scored | others | {"best.npz", "average.npz"}
    # The checkpoint before the newest one needs those that it averages.
    state = list(Checkpoints(folder / "checkpoints").infos())[1]["state"]
    needed = {f"scored-0-{update:09d}.npz" for update, _ in state["kept"]}
    assert others == needed - scored


@pytest.mark.long
def test_a_disturbed_run_ends_alike(tmp_path, best):
    """It is stopped, and has lost the newest checkpoint and an average."""
    _, undisturbed, _, expected = best
    for update in (3, 8, 11):
        running.interrupt(make(log_dir=tmp_path, **BEST)[0], update)
    os.truncate(Checkpoints(tmp_path / "checkpoints").paths()[0], 100)
    trainer, _, result = run(log_dir=tmp_path, **BEST)
    # Finished: nothing is trained, but the mean is made again.
    os.remove(tmp_path / "checkpoints" / "average.npz")
    again, seen, result_again = run(log_dir=tmp_path, **BEST)
    assert not seen
    for one, own in ((trainer, result), (again, result_again)):
        running.assert_same_bits(
            running.weights_of(one), running.weights_of(undisturbed)
        )
        assert own.dev_history == expected.dev_history
        assert own.averaged_updates == expected.averaged_updates
        assert own.best_dev_nll == expected.best_dev_nll


@pytest.mark.long
def test_the_last_weights_are_averaged_of_a_run_that_went_on(tmp_path, plain):
    options = {"average": "last", "average_of": 2, "log_dir": tmp_path}
    trainer, seen, result = run(steps=7, **options)
    assert result.averaged_updates == [6, 7]
    expected = mean_weights([plain[6], plain[7]])
    running.assert_close(running.weights_of(trainer), expected, **ROUNDING)
    trainer, _, result = run(**options)
    assert result.averaged_updates == [10, 12]
    running.assert_same_bits(
        running.weights_of(trainer), mean_weights([plain[10], plain[12]])
    )


@pytest.mark.long
def test_lost_weights_are_left_out(tmp_path, capsys):
    options = {"average": "last", "average_of": 2, "log_dir": tmp_path}
    running.interrupt(make(**options)[0], 11)
    os.remove(tmp_path / "checkpoints" / "scored-0-000000010.npz")
    _, _, result = run(verbose=True, **options)
    assert (
        "scored-0-000000010.npz is missing. The others"
        in capsys.readouterr().err
    )
    assert result.averaged_updates == [8, 12]


@pytest.mark.long
def test_without_dev_data_the_moving_average_is_used(tmp_path, plain):
    for _ in range(2):  # trained, and loaded
        trainer, _, _ = run(dev_data=None, ema=EMA, log_dir=tmp_path)
        expected = moving_averages(plain)[12]
        running.assert_close(running.weights_of(trainer), expected, **ROUNDING)


@pytest.mark.long
def test_a_phase_begins_with_a_new_average():
    """Before its first update there is none, and weights are scored."""
    phase = training.Phase(6, lambda: None)
    trainer, seen, result = run(phases=[phase], **BEST)
    assert min(update for update in result.averaged_updates) >= 6
    losses = dict(result.dev_history)
    # The phase begins with the best weights, whose score is the same again.
    assert losses[6] == min(losses[x] for x in (2, 4, 6))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"average": "first"}, '`average` must be None, "last" or "best". R'),
        ({"average": "last", "average_of": 0}, "Received: average_of=0"),
        ({"average": "last", "dev_data": None}, "`average` needs `dev_data`"),
        (
            {
                "optimizer": keras.optimizers.SGD(
                    use_ema=True, ema_overwrite_frequency=2
                )
            },
            "must not overwrite .* Received: ema_overwrite_frequency=2",
        ),
    ],
)
def test_wrong_options_raise(options, message):
    with pytest.raises(ValueError, match=message):
        standin.make_trainer(**options)
