"""Loading of exported models, by functions and by the flags of commands."""

import dataclasses
import os
from typing import Literal

from tfcopy.flags import NonNegativeInt, PositiveFloat, PositiveInt
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import ModelError, split_location


def load(
    where,
    model: str | None = None,
    *,
    version: int | None = None,
    batch_size: int = 32,
    at_once: int | None = None,
    engine: str | None = None,
    trust: bool = False,
    **options,
) -> ExportedModel:
    """Loads an exported model, from a folder or a server.

    ```python
    with tfcopy.load("savedmodels/europarl_ps") as model:
        for answer in model.translate(["Mr Łukasz has the floor."]):
            print(answer.text)
    ```

    Args:
        where: A folder, of numbered versions or of one version, which may be a
            URL such as `gs://bucket/model`; or `ADDRESS/MODEL`, a model on a
            server, TensorFlow Serving. The address is that of its REST port:
            `host:port`, `http://host:port` or `https://host:port`.
        model: Name of the model on the server, or in a folder of several, if
            `where` does not end with it.
        version: Version to load; the highest if not given.
        batch_size: Positive integer, maximum number of texts in a batch.
        at_once: Positive integer, maximum number of concurrent batches; by
            default one for each core, or 4 for a server.
        engine: Engine of the search, for a folder: `"litert"` or
            `"tensorflow"`. By default LiteRT if the export has programs for it
            and it is installed.
        trust: Whether to run a graph with operations that no export has, such
            as writing files. They run on this machine, with your rights.
        **options: Options of a server, as in `RemoteModel`: `deadline`,
            `retries`.

    Raises:
        ModelError: If there is no such model, it cannot be loaded, or the
            server does not answer.
    """
    where = os.fspath(where)
    if model is not None:
        where = os.path.join(where, model)
    opened = open_model(
        *split_location(where),
        version=version,
        batch_size=batch_size,
        at_once=at_once,
        engine=engine,
        trust=trust,
        **options,
    )
    # Raises an error unless it is an export.
    opened.inputs
    return opened


def open_model(
    address: str | None,
    model: str,
    *,
    batch_size: int = 32,
    engine: str | None = None,
    trust: bool = False,
    **options,
) -> ExportedModel:
    """Opens a model, which need not be an export of tfcopy.

    Args:
        address: The server's address; `None` for a folder.
        model: The folder, or the name on the server.
        **options: As in `LocalModel` or `RemoteModel`; `None` for the default.
    """
    options = {name: x for name, x in options.items() if x is not None}
    options["batch_size"] = batch_size
    # Imported late: a server needs no engine.
    if address is not None:
        from tfcopy.runtime.remote_model import RemoteModel

        return RemoteModel(address, model, **options)
    if others := options.keys() - {"version", "batch_size", "at_once"}:
        raise ModelError(
            f"{model}: only models on a server take "
            f"{', '.join(sorted(others))}."
        )
    from tfcopy.runtime.local_model import LocalModel

    return LocalModel(model, engine=engine, trust=trust, **options)


@dataclasses.dataclass(kw_only=True)
class LoadingOptions:
    """Flags for loading an export, as in `LocalModel`.

    Attributes:
        engine: engine of the search, litert or tensorflow; by default litert,
            if the export has its programs and it is installed
        trust: allow operations that no export has, such as writing files
    """

    engine: Literal["litert", "tensorflow"] | None = None
    trust: bool = False

    @property
    def engine_options(self) -> dict:
        return {"engine": self.engine, "trust": self.trust}


@dataclasses.dataclass(kw_only=True)
class ModelOptions(LoadingOptions):
    """Flags of the model: an exported folder, or a model on a server.

    Attributes:
        model: exported folder, or ADDRESS/MODEL on a server
        version: version of the model (default: the highest)
        at_once: concurrent batches (default: one for each core, or 4 for a
            server)
        deadline: seconds until a request to a server fails, retries included
            (default: 60)
        retries: retries of a request if the server is not ready (default: 5)
    """

    positional = {"model": "MODEL"}

    model: str
    version: NonNegativeInt | None = None
    at_once: PositiveInt | None = None
    deadline: PositiveFloat | None = None
    retries: NonNegativeInt | None = None

    def __post_init__(self):
        try:
            self.server, self.model = split_location(self.model)
        except ModelError as error:
            raise ValueError(error) from error
        for name in ("deadline", "retries"):
            if self.server is None and getattr(self, name) is not None:
                raise ValueError(
                    f"--{name} is for a model on a server, ADDRESS/MODEL"
                )

    def open(self):
        """Opens the model and returns an `ExportedModel`.

        Raises:
            ModelError: If the model cannot be loaded.
        """
        names = ("version", "batch_size", "at_once", "deadline", "retries")
        options = {name: getattr(self, name) for name in names}
        options |= self.engine_options
        return open_model(self.server, self.model, **options)
