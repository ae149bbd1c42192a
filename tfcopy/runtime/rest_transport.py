"""REST requests to TensorFlow Serving, by Python's standard library.

Reference: [RESTful API](https://www.tensorflow.org/tfx/serving/api_rest).
"""

import base64
import contextlib
import http.client
import json
import socket
import ssl
import threading
from concurrent.futures import Future
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

import numpy as np

from tfcopy.file_formats import FormError, parse_json
from tfcopy.flags import reading
from tfcopy.runtime import signatures
from tfcopy.runtime.signatures import ModelError
from tfcopy.terminal import one_line

# Status after which a request is repeated.
UNAVAILABLE = "UNAVAILABLE"
_CHUNK = 1 << 20

# Types of the tensors of exports.
_DTYPES = {"DT_STRING": object, "DT_BOOL": bool, "DT_FLOAT": np.float32}
_DTYPES |= {"DT_INT32": np.int32, "DT_INT64": np.int64}


class Failure(Exception):
    """A failed request.

    Args:
        code: Name of a status, such as "NOT_FOUND".
        details: Reason of the failure.
        is_reached: Whether the server itself reported the failure.
    """

    def __init__(self, code: str, details: str, is_reached: bool = True):
        super().__init__(code, details)
        self.code = code
        self.details = one_line(details).rstrip(".")[:300] or "no reason given"
        self.is_reached = is_reached


class ModelSpec(NamedTuple):
    """A model on a server; the highest version by default."""

    name: str
    version: int | None = None
    label: str | None = None


class TensorInfo(NamedTuple):
    """Type and rank of a tensor in a signature.

    Attributes:
        dtype: Name in TensorFlow's protocol buffers, such as "DT_STRING".
        rank: Number of axes, `None` if unknown.
    """

    dtype: str
    rank: int | None

    @property
    def numpy_dtype(self) -> np.dtype:
        """Returns the NumPy type of its values."""
        if self.dtype not in _DTYPES:
            raise ValueError(f"no values are known of the type {self.dtype}")
        return np.dtype(_DTYPES[self.dtype])


class SignatureInfo(NamedTuple):
    """Inputs and outputs of a signature by name, sorted by name."""

    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]


class VersionStatus(NamedTuple):
    """State of a version of a model.

    Attributes:
        version: Number of the version.
        state: START, LOADING, AVAILABLE, UNLOADING or END.
        message: Error message, if any.
    """

    version: int
    state: str
    message: str = ""


def parse_address(text: str) -> SplitResult:
    """Returns the parts of the address of a server.

    Raises:
        ModelError: If it has another form.
    """
    is_bare = "://" not in text
    try:
        parts = urlsplit(f"http://{text}" if is_bare else text)
        others = parts.query or parts.fragment or parts.username
        has_port = parts.port is not None or not is_bare
        is_whole = parts.hostname and has_port and not others
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in ("http", "https"):
        raise ModelError(
            f"{text}: not the address of a server. Expected host:port, "
            "http://host:port or https://host:port, of TensorFlow Serving's "
            "REST port."
        )
    return parts


def exchange(connection, path, body, seconds):
    """Sends a request, and returns its `HTTPResponse` and the content.

    A separate thread waits for the response: the time-out of a socket restarts
    with each byte of a header, and resolving a host has none.

    Args:
        connection: An `HTTPConnection` for this request alone.
        path: Path of the URL.
        body: Body of a POST, `bytes`; `None` for a GET.
        seconds: Time limit of the request.

    Raises:
        TimeoutError: After these seconds.
    """
    answer, sockets = Future(), []

    def work():
        try:
            answer.set_result(_answer(connection, path, body, sockets))
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return answer.result(timeout=seconds)
    finally:
        for opened in sockets:
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)


def _answer(connection, path, body, sockets):
    method = "GET" if body is None else "POST"
    headers = {"Connection": "close", "Content-Type": "application/json"}
    try:
        connection.connect()
        # The connection drops its socket when the response begins.
        sockets.append(connection.sock)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response, _content(response)
    finally:
        connection.close()


def _content(response):
    chunks, size = [], 0
    while chunk := response.read1(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > signatures.LARGEST_ANSWER:
            raise Failure(
                "RESOURCE_EXHAUSTED",
                f"the response has more than {signatures.LARGEST_ANSWER:,} "
                "bytes; ask for less at once (--batch_size)",
            )
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(chunks)


# Names of statuses by HTTP status, as TensorFlow Serving maps them.
_CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: UNAVAILABLE,
    504: "DEADLINE_EXCEEDED",
}


class RestTransport:
    """Requests to a server by REST.

    A model is a `ModelSpec`, and a timeout is in seconds. Each method sends one
    request and raises a `Failure` if there is no valid response. Responses are
    not trusted. Inputs are arrays of `bytes`, of dtype object, by name; outputs
    are a dict of `TensorInfo` from `signatures`.

    Args:
        address: The server's address.
        root_certificate: Optional path of a PEM file of root certificates; the
            system's by default.

    Raises:
        ModelError: If the address has another form, or the certificates cannot
            be read.
    """

    def __init__(self, address: str, root_certificate=None):
        self._address = parse_address(address)
        self._path = quote(self._address.path.rstrip("/"), safe="/%")
        self._context = None
        if self._address.scheme == "https":
            with reading("--root_certificate", root_certificate, ModelError):
                self._context = ssl.create_default_context(
                    cafile=root_certificate
                )
        elif root_certificate is not None:
            raise ModelError(f"{address}: use https:// for TLS.")

    def signatures(self, model: ModelSpec, timeout) -> dict:
        answer = self._ask(_path(model) + "/metadata", None, timeout)
        with _errors_as_failure("signatures"):
            signatures = answer["metadata"]["signature_def"]["signature_def"]
            return {
                name: SignatureInfo(
                    _infos(x.get("inputs")), _infos(x.get("outputs"))
                )
                for name, x in sorted(signatures.items())
                # Initialisers of SavedModels are none.
                if not name.startswith("__saved_model_")
            }

    def status(self, model: ModelSpec, timeout) -> list[VersionStatus]:
        answer = self._ask(_path(model), None, timeout)
        with _errors_as_failure("status"):
            return [
                VersionStatus(
                    int(x["version"]),
                    _text(x["state"]),
                    _text(x.get("status", {}).get("error_message", "")),
                )
                for x in answer["model_version_status"]
            ]

    def predict(
        self, model: ModelSpec, signature: str, inputs, outputs, timeout
    ) -> dict[str, np.ndarray]:
        rows = len(next(iter(inputs.values())))
        if not rows:
            # JSON has no shape of an empty list: request a row, and drop it.
            inputs = {
                name: np.full((1, *x.shape[1:]), b"", object)
                for name, x in inputs.items()
            }
        request = {
            "signature_name": signature,
            "inputs": {k: _encode(x.tolist()) for k, x in inputs.items()},
        }
        body = json.dumps(request, ensure_ascii=False).encode()
        answer = self._ask(_path(model) + ":predict", body, timeout)
        with _errors_as_failure("outputs"):
            values = answer["outputs"]
            if len(outputs) == 1:
                values = dict.fromkeys(outputs, values)
            arrays = {
                name: _array(name, values[name], info, max(1, rows))
                for name, info in outputs.items()
            }
        return arrays if rows else {k: x[:0] for k, x in arrays.items()}

    def _ask(self, path, body, timeout):
        """Returns the JSON object of a response to a GET, or to a POST."""
        connection, path = self._connection(timeout), self._path + path
        try:
            response, content = exchange(connection, path, body, timeout)
        except TimeoutError:
            raise Failure("DEADLINE_EXCEEDED", "", False) from None
        except (ConnectionError, http.client.IncompleteRead) as error:
            raise Failure(UNAVAILABLE, _reason(error), False) from None
        except http.client.HTTPException:
            raise Failure("UNKNOWN", "it does not speak HTTP", False) from None
        except (OSError, UnicodeError) as error:
            raise Failure("UNKNOWN", _reason(error), False) from None
        # Texts need not be UTF-8.
        content = content.decode("utf-8", "surrogateescape")
        if response.status != 200:
            code = _CODES.get(response.status, "UNKNOWN")
            raise Failure(code, _error(response, content))
        with _errors_as_failure("JSON"):
            return parse_json(content)

    def _connection(self, timeout):
        host, port = self._address.hostname, self._address.port
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(
            host, port, timeout=timeout, context=self._context
        )


@contextlib.contextmanager
def _errors_as_failure(what):
    """Turns errors in reading a response into a `Failure`."""
    try:
        yield
    except (
        *(ValueError, LookupError, TypeError, AttributeError),
        *(ArithmeticError, RecursionError, MemoryError),
    ) as error:
        reason = f": {error}" if type(error) is ValueError else ""
        raise Failure(
            "UNKNOWN",
            f"the response has no valid {what}{reason}; is this TensorFlow "
            "Serving?",
        ) from None


def _path(model):
    path = "/v1/models/" + quote(model.name, safe="")
    if model.version is not None:
        path += f"/versions/{model.version}"
    elif model.label is not None:
        path += "/labels/" + quote(model.label, safe="")
    return path


def _reason(error):
    """Returns the message of a system error, without its number."""
    return getattr(error, "strerror", None) or str(error) or repr(error)


def _error(response, content):
    """Returns the server's message of an error."""
    try:
        return str(parse_json(content)["error"])
    except (FormError, LookupError, TypeError):
        return f"HTTP {response.status} {response.reason}: {content[:200]}"


def _infos(tensors):
    return {k: _info(x) for k, x in sorted((tensors or {}).items())}


def _info(tensor):
    shape = tensor.get("tensor_shape", {})
    rank = None if shape.get("unknown_rank") else len(shape.get("dim", ()))
    return TensorInfo(_text(tensor["dtype"]), rank)


def _text(x):
    if not isinstance(x, str):
        raise TypeError
    return x


def _encode(texts):
    """Returns nested lists of `bytes` in the form of JSON."""
    if isinstance(texts, list):
        return [_encode(x) for x in texts]
    try:
        return texts.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(texts).decode()}


def _decode(texts):
    """Inverts `_encode`."""
    if isinstance(texts, list):
        return [_decode(x) for x in texts]
    if isinstance(texts, dict):
        return base64.b64decode(texts["b64"])
    try:
        return texts.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # JSON may contain half a character.
        return texts.encode("utf-8", "replace")


def _array(name, values, info, num_rows):
    """Returns an array of nested lists; NaN and Infinity are numbers."""
    if info.dtype == "DT_STRING":
        values = _decode(values)
    array = np.array(values, info.numpy_dtype)
    if not array.size and info.rank is not None:
        # Nested lists end at an axis of size 0.
        array = array.reshape(array.shape + (0,) * (info.rank - array.ndim))
    _check_shape(name, array.shape, info, num_rows)
    if array.dtype == object and not all(type(x) is bytes for x in array.flat):
        raise ValueError(f"{name} has lists of different lengths")
    return array


def _check_shape(name, shape, info: TensorInfo, num_rows):
    """Checks that a tensor may be an output for a number of rows."""
    if info.rank not in (None, len(shape)):
        raise ValueError(f"{name} has {len(shape)} axes, not {info.rank}")
    if not shape or shape[0] != num_rows:
        answers = shape[0] if shape else "no"
        raise ValueError(f"{name} has {answers} rows, not {num_rows}")
