"""An export in a folder, which answers in this process by its engines."""

import contextlib
import functools
from importlib.util import find_spec

from tfcopy import filesystem
from tfcopy.runtime import litert_engine
from tfcopy.runtime.batches import choose_concurrency
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import ModelError, check_whole
from tfcopy.runtime.tensorflow_engine import TensorFlowEngine
from tfcopy.runtime.versions import find_version, read_config
from tfcopy.terminal import one_line, quiet


class LocalModel(ExportedModel):
    """An export in a folder, which answers in this process.

    Args:
        folder: The folder of one version, or of numbered versions.
        version: Number of the version; the highest if not given.
        batch_size: Positive integer, maximum number of examples in a batch.
        at_once: Positive integer, maximum number of concurrent batches; by
            default one for each core, or for a GPU.
        engine: `"litert"` or `"tensorflow"`. By default LiteRT if the export
            has its programs and LiteRT is installed.
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
        programs = self._choose_programs(engine)
        with _errors_as_model_error(self.name, "be loaded"):
            self.at_once = at_once or choose_concurrency(gpu=programs is None)
            self.engine = self._open_litert(programs, engine)
            if self.engine is None:
                with quiet():
                    self.engine = TensorFlowEngine(self.name, trust)
            self.signatures = self.engine.signatures
            if isinstance(self.engine, TensorFlowEngine):
                self._warm_up()

    def _ask_batch(self, signature, arrays):
        with _errors_as_model_error(self.name, "answer"):
            return self.engine.answer(signature, arrays)

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
