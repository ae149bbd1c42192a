import collections
import gc
import itertools
import os
import random
import signal
import sys
from importlib.machinery import PathFinder

# JAX compiles the tests' tiny functions for longer than it runs them.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Two processes share the cores, and tiny operations are not worth a thread.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")

if sys.dont_write_bytecode:
    # Compiling TensorFlow's 3,000 modules anew takes each of the suite's
    # processes 9 seconds; the workers and all they start share these.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = os.environ.setdefault(
        "PYTHONPYCACHEPREFIX",
        os.path.abspath(f"{__file__}/../../.pytest_cache/bytecode"),
    )

# In the background, and under `nohup`, these are ignored. A program that a test
# starts would ignore them, too; a handler ends where another program begins.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, lambda *_: None),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

import pytest  # noqa: E402

from tests import checkout, time_budget  # noqa: E402

_NUMBERS = itertools.count()

# The process that only hands out the tests does without Keras.


def _is_first_tier(config):
    return config.option.markexpr == time_budget.TIER


@pytest.fixture
def without(monkeypatch):
    """Function of the name of a package that then is not installed."""

    def without(package):
        find = PathFinder.find_spec
        monkeypatch.setattr(
            PathFinder,
            "find_spec",
            lambda name, *rest: None if name == package else find(name, *rest),
        )
        for name in [x for x in sys.modules if x.split(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)

    return without


@pytest.fixture(autouse=True, scope="session")
def empty_folder(tmp_path_factory):
    """Fixtures and tests find nothing in the folder that they run in."""
    folder = tmp_path_factory.mktemp("folder")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.fixture(autouse=True)
def own_folder(empty_folder, monkeypatch):
    """Each test runs in a folder of its own, and leaves the checkout alone."""
    folder = empty_folder / str(next(_NUMBERS))
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.fixture(autouse=True, scope="module")
def plain_graphs(request):
    """Most tests run a graph once, which takes less time than rewriting it.

    Files of the marker `optimised_graphs`, and all of the other tiers, have
    the graphs that users have.
    """
    import keras

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        is_plain = _is_first_tier(request.config)
        is_plain &= not request.node.get_closest_marker("optimised_graphs")
        tf.config.optimizer.set_experimental_options(
            {"disable_meta_optimizer": is_plain}
        )


@pytest.fixture(autouse=True, scope="module")
def seeded_libraries(request):
    # Once a file: it throws away all that TensorFlow has compiled.
    import keras

    # Keras collects garbage after each layer that it quantizes, and would look
    # at all that the files before have left. Frozen garbage stays for ever:
    # 11 GB of graphs after two thirds of the slow tests.
    if not _is_first_tier(request.config):
        gc.collect()
    gc.freeze()

    keras.utils.set_random_seed(0)


@pytest.fixture(autouse=True)
def fixed_seed(seeded_libraries):
    import numpy as np

    # Layers without a seed of their own draw one from Python's generator.
    random.seed(0)
    np.random.seed(0)


def pytest_configure(config):
    import hypothesis

    # How fast the machine is says nothing about the code.
    hypothesis.settings.register_profile(
        "unhurried",
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("unhurried")
    config.pluginmanager.register(time_budget.Clock())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(checkout.Guard(config.rootpath))


def pytest_collection_modifyitems(config, items):
    """Gives slow tests their time, and others their tier.

    What Hypothesis draws is of both: a third of the examples in the first
    tier, all of them in the long one.
    """
    import hypothesis

    is_first = _is_first_tier(config)
    cases = collections.Counter()
    drawn = set()
    for item in items:
        function, few = item.function, item.get_closest_marker("few")
        if few:
            cases[function] += 1
            first, *last = few.args
            if cases[function] > first:
                is_last = last and cases[function] > last[0]
                item.add_marker("slow" if is_last else "long")
        is_slow = item.get_closest_marker("slow")
        if is_slow:
            item.add_marker(pytest.mark.timeout(3600))
            # It stays what it is, whatever the other cases are.
            item.own_markers = [x for x in item.own_markers if x.name != "long"]
        is_long = item.get_closest_marker("long")
        if hypothesis.is_hypothesis_test(function) and not is_long:
            drawn.add(function)
            if not is_first and not is_slow:
                item.add_marker(pytest.mark.long)
    for function in drawn if is_first else ():
        # A test's own number stands above that of any profile.
        own = function._hypothesis_internal_use_settings
        function._hypothesis_internal_use_settings = hypothesis.settings(
            own, max_examples=-(-own.max_examples // 3)
        )
    # What takes longest is not left to the end.
    order = {name: i for i, name in enumerate(time_budget.BUDGET["first"])}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_collection_finish(session):
    # TensorFlow's graphs are many small objects, and nearly all go by their
    # counts: to look through them again and again takes a quarter of the time.
    gc.collect()
    gc.freeze()
    rare = 1_000 if _is_first_tier(session.config) else 10
    gc.set_threshold(100_000, rare, rare)
