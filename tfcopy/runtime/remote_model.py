"""Engine of `ExportedModel` for models on TensorFlow Serving.

Requests are repeated until the server answers or the deadline has passed.
"""

import functools
import itertools
import random
import time
from numbers import Real
from urllib.parse import quote

import numpy as np

from tfcopy.runtime import rest_transport
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import (
    UNAVAILABLE,
    ModelError,
    Signature,
    check_whole,
)

_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0  # seconds
# Seconds beyond the deadline for finding the reason of a failure.
_EXPLAIN = 5.0


class Connection:
    """A connection to a model of TensorFlow Serving, by REST.

    A request is repeated up to `retries` times if the server cannot be reached
    or is not ready, with exponential backoff and jitter. All tries together may
    take `deadline` seconds. Other failures are final.

    Args:
        address: `host:port`, `http://host:port` or `https://host:port`.
        model: Name of the model.
        version: Optional number of the version. Without it, the server chooses
            the highest.
        deadline: Positive number of seconds.
        retries: Non-negative integer.

    Raises:
        ModelError: If the address is malformed.
    """

    def __init__(
        self,
        address: str,
        model: str,
        *,
        version: int | None = None,
        deadline: float = 60.0,
        retries: int = 5,
    ):
        check_whole(0, retries=retries)
        if version is not None:
            check_whole(0, version=version)
        if not (isinstance(deadline, Real) and deadline > 0):
            raise ModelError(
                "`deadline` must be a positive number of seconds. "
                f"Received: {deadline!r}."
            )
        self.address = address
        self.name = f"{model} at {address}"
        self.deadline = deadline
        self.retries = retries
        self._model, self._version = model, version
        self._server = rest_transport.RestServer(address)

    def signatures(self) -> dict:
        """Returns inputs and outputs of each signature, by name."""
        return self._call(
            "its signatures", "/metadata", rest_transport.read_signatures
        )

    def predict(self, signature: str, inputs, outputs) -> dict:
        """Calls a signature.

        Args:
            signature: Its name.
            inputs: Dict of arrays of `bytes`, of dtype object.
            outputs: Dict of `TensorInfo`, from `signatures`.
        """
        rows = len(next(iter(inputs.values())))
        if not rows:
            # JSON has no shape of an empty list: request a row, and drop it.
            inputs = {
                name: np.full((1, *x.shape[1:]), b"", object)
                for name, x in inputs.items()
            }
        arrays = self._call(
            f"signature {signature!r}",
            ":predict",
            lambda answer: rest_transport.read_outputs(
                answer, outputs, max(1, rows)
            ),
            rest_transport.encode_request(signature, inputs),
        )
        return {name: x[:rows] for name, x in arrays.items()}

    def _call(self, what, path, read, body=None):
        end = time.monotonic() + self.deadline
        path = self._path(self._version) + path
        for tries in itertools.count(1):
            left = max(0.001, end - time.monotonic())
            try:
                return read(self._server.ask(path, body, left))
            except rest_transport.Failure as failure:
                wait = _draw_wait(tries)
                is_final = failure.code != UNAVAILABLE or tries > self.retries
                if is_final or time.monotonic() + wait >= end:
                    message = self._explain(failure, what, tries)
                    raise ModelError(message, failure.code) from None
            time.sleep(wait)

    def _path(self, version=None):
        path = "/v1/models/" + quote(self._model, safe="")
        return path if version is None else f"{path}/versions/{version}"

    def _explain(self, failure, what, tries):
        code, details = failure.code, failure.details
        if code == "DEADLINE_EXCEEDED":
            less = "Ask for less at once (--batch_size)"
            if failure.is_reached:
                return (
                    f"{self.name}: the server gave up a request for {what} "
                    f"({details}). {less}, or raise the limit of the server "
                    "(--rest_api_timeout_in_ms)."
                )
            return (
                f"{self.name}: no answer to a request for {what} within "
                f"{self.deadline:g} s. {less}, or allow more time (--deadline)."
            )
        times = f"asked {tries} times" if tries > 1 else "asked once"
        if not failure.is_reached:
            return (
                f"{self.address}: no server answers ({details}; {times}). Is "
                "TensorFlow Serving running there, and is this its port for "
                "REST, often 8501?"
            )
        if code == UNAVAILABLE:
            return (
                f"{self.name}: the server is not ready ({details}; {times}). "
                "It may still be loading its models: ask again later."
            )
        if code == "NOT_FOUND":
            return self._explain_not_found(details)
        verb = "refuses" if code == "INVALID_ARGUMENT" else "cannot answer"
        return (
            f"{self.name}: the server {verb} a request for {what} "
            f"({code}: {details})."
        )

    def _explain_not_found(self, details):
        """Returns a message about a missing model, or a missing version."""
        version = self._version
        try:
            answer = self._server.ask(self._path(), None, _EXPLAIN)
            versions = rest_transport.read_status(answer)
        except rest_transport.Failure as failure:
            if failure.code != "NOT_FOUND":
                return f"{self.name}: {details}."
            return (
                f"{self.address}: the server has no model {self._model!r} "
                f"({details}). Expected the name that it was started with "
                "(--model_name, or a name of its --model_config_file)."
            )
        states = {number: state for number, state, _ in versions}
        listing = ", ".join(
            f"{number} {state}" + (f" ({message})" if message else "")
            for number, state, message in versions
        )
        if version is not None and version not in states:
            return f"{self.name}: no version {version}. Versions: {listing}."
        asked = states.values() if version is None else [states[version]]
        if {"START", "LOADING"} & {*asked}:
            return (
                f"{self.name}: the server is still loading it (versions: "
                f"{listing}). Ask again later."
            )
        return f"{self.name}: not available (versions: {listing})."


def _draw_wait(tries):
    """Returns a randomised number of seconds to wait after some tries."""
    longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(tries - 1, 10))
    return longest * random.uniform(0.5, 1)


class RemoteModel(ExportedModel):
    """A model of TensorFlow Serving.

    Args:
        address: The server's address; see `Connection`.
        model: Name of the model.
        batch_size: Positive integer, maximum number of examples in a request.
        at_once: Positive integer, maximum number of concurrent requests.
        **options: As in `Connection`: `version`, `deadline`, `retries`.

    Raises:
        ModelError: If the server does not answer, or an argument is wrong.
    """

    def __init__(
        self,
        address: str,
        model: str,
        *,
        batch_size: int = 32,
        at_once: int = 4,
        **options,
    ):
        check_whole(1, batch_size=batch_size, at_once=at_once)
        self.reopen = functools.partial(
            *(RemoteModel, address, model),
            batch_size=batch_size,
            at_once=at_once,
            **options,
        )
        self.batch_size = batch_size
        self.at_once = at_once
        self._connection = Connection(address, model, **options)
        self.name = self._connection.name
        self.config = {}  # Servers do not send the facts of an export.
        self._infos = self._connection.signatures()
        self.signatures = {
            name: Signature(
                {k: _text_rank(x) for k, x in inputs.items()}, tuple(outputs)
            )
            for name, (inputs, outputs) in self._infos.items()
        }

    def _ask_batch(self, signature, arrays):
        _, outputs = self._infos[signature]
        return self._connection.predict(signature, arrays, outputs)


def _text_rank(info):
    return info.rank if info.dtype == "DT_STRING" else 0
