"""An export in a folder, which answers in this process by its engines."""

import contextlib
import functools
import threading
from importlib.util import find_spec

from tfcopy import filesystem
from tfcopy.runtime import litert_engine
from tfcopy.runtime.batches import choose_concurrency
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import ModelError, check_whole
from tfcopy.runtime.tensorflow_engine import TensorFlowEngine
from tfcopy.runtime.versions import find_version, read_config
from tfcopy.terminal import one_line, quiet

# For larger batches, TensorFlow is faster than LiteRT in float32.
MOST_ROWS = 6


class LocalModel(ExportedModel):
    """An export in a folder, which answers in this process.

    Args:
        folder: The folder of one version, or of numbered versions.
        version: Number of the version; the highest if not given.
        batch_size: Positive integer, maximum number of examples in a batch.
        at_once: Positive integer, maximum number of concurrent batches; by
            default one for each core, or for a GPU.
        engine: `"litert"` or `"tensorflow"`. By default LiteRT if the export
            has its programs and LiteRT is installed. Then TensorFlow, if it is
            installed, answers large batches in float32 alone, since it is
            faster; it is loaded for the first of them.
        trust: Whether to allow operations that no export has, such as writing
            files.

    Raises:
        ModelError: If there is no such model, or it cannot be loaded.
    """

    def __init__(
        self,
        folder,
        version: int | None = None,
        *,
        batch_size: int = 32,
        at_once: int | None = None,
        engine: str | None = None,
        trust: bool = False,
    ):
        check_whole(1, batch_size=batch_size)
        if at_once is not None:
            check_whole(1, at_once=at_once)
        if version is not None:
            check_whole(0, version=version)
        self.name = find_version(folder, version)
        self.batch_size = batch_size
        self.reopen = functools.partial(
            LocalModel,
            filesystem.abspath(self.name),
            batch_size=batch_size,
            at_once=at_once,
            engine=engine,
            trust=trust,
        )
        self.config = read_config(self.name)
        self._trust = trust
        self._loading = threading.Lock()
        self._tensorflow = None
        programs = self._choose_programs(engine)
        with _errors_as_model_error(self.name, "be loaded"):
            self.at_once = at_once or choose_concurrency(gpu=programs is None)
            self._litert = self._open_litert(programs, engine)
            self._most_rows = None
            if self._litert is None:
                self.signatures = self._load_tensorflow().signatures
                self._warm_up()
                return
            self.signatures = self._litert.signatures
            is_float = programs["precision"] == "float32"
            if is_float and not engine and find_spec("tensorflow"):
                self._most_rows = MOST_ROWS

    def _ask_batch(self, signature, arrays):
        rows = len(next(iter(arrays.values())))
        is_small = 0 < rows <= (self._most_rows or rows)
        with _errors_as_model_error(self.name, "answer"):
            if self._litert is not None and is_small:
                return self._litert.answer(signature, arrays)
            return self._load_tensorflow().answer(signature, arrays)

    def _choose_programs(self, engine):
        """Returns the facts about LiteRT's programs, if they are to be used."""
        facts = self.config.get("litert")
        if facts is None and engine == "litert":
            raise ModelError(
                f"{self.name}: cannot be loaded (it has no programs of LiteRT)."
            )
        return None if engine == "tensorflow" else facts

    def _open_litert(self, programs, engine):
        if programs is None:
            return None
        try:
            return litert_engine.LitertEngine(self.name, programs, self.at_once)
        except ImportError:
            if engine is None and find_spec("tensorflow"):
                return None
            raise ValueError(
                "LiteRT is not installed: pip install ai-edge-litert; or only "
                "in part: pip install --force-reinstall ai-edge-litert"
            ) from None

    def _load_tensorflow(self):
        with self._loading:
            if self._tensorflow is None:
                with quiet():
                    self._tensorflow = TensorFlowEngine(self.name, self._trust)
        return self._tensorflow

    def _warm_up(self):
        # The first call is slow, and prints messages.
        with quiet():
            for name, (inputs, _) in self.signatures.items():
                if inputs and all(inputs.values()):
                    blank = {1: ["a"], 2: [["a"]]}
                    self.ask(name, {k: blank[x] for k, x in inputs.items()})


@contextlib.contextmanager
def _errors_as_model_error(name, work):
    """Raises errors of all kinds as a `ModelError` that names the model."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # Libraries raise errors of all kinds.
        raise ModelError(
            f"{name}: cannot {work} ({one_line(error)})."
        ) from None
