"""REST requests to TensorFlow Serving, by Python's standard library.

Reference: [RESTful API](https://www.tensorflow.org/tfx/serving/api_rest).
"""

import base64
import contextlib
import functools
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
from tfcopy.runtime import signatures
from tfcopy.runtime.signatures import UNAVAILABLE, ModelError
from tfcopy.terminal import one_line

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


class TensorInfo(NamedTuple):
    """Type and rank of a tensor in a signature.

    Attributes:
        dtype: Name in TensorFlow's protocol buffers, such as "DT_STRING".
        rank: Number of axes, `None` if unknown.
    """

    dtype: str
    rank: int | None


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


class RestServer:
    """A server that answers requests by REST; its responses are not trusted.

    Args:
        address: The server's address.

    Raises:
        ModelError: If the address has another form.
    """

    def __init__(self, address: str):
        self._address = parse_address(address)
        self._path = quote(self._address.path.rstrip("/"), safe="/%")
        self._open = http.client.HTTPConnection
        if self._address.scheme == "https":
            self._open = functools.partial(
                http.client.HTTPSConnection,
                context=ssl.create_default_context(),
            )

    def ask(self, path: str, body: bytes | None, timeout: float):
        """Returns the JSON value of the response to one request.

        Args:
            path: Path of the URL, below the address.
            body: Body of a POST; `None` for a GET.
            timeout: Seconds.

        Raises:
            Failure: If there is no valid response.
        """
        address = self._address.hostname, self._address.port
        connection = self._open(*address, timeout=timeout)
        path = self._path + path
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


@_errors_as_failure("signatures")
def read_signatures(answer) -> dict[str, tuple[dict, dict]]:
    """Returns the inputs and outputs of signatures, dicts of `TensorInfo`."""
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    return {
        name: (_infos(x.get("inputs")), _infos(x.get("outputs")))
        for name, x in sorted(signatures.items())
        # Initialisers of SavedModels are none.
        if not name.startswith("__saved_model_")
    }


@_errors_as_failure("status")
def read_status(answer) -> list[tuple[int, str, str]]:
    """Returns number, state and error message of versions, in order."""
    return sorted(
        (
            int(x["version"]),
            _text(x["state"]),
            _text(x.get("status", {}).get("error_message", "")),
        )
        for x in answer["model_version_status"]
    )


def encode_request(signature: str, inputs: dict) -> bytes:
    """Returns the body of a request to a signature.

    Args:
        signature: Its name.
        inputs: Dict of arrays of `bytes`, of dtype object.
    """
    texts = {k: _encode(x.tolist()) for k, x in inputs.items()}
    request = {"signature_name": signature, "inputs": texts}
    return json.dumps(request, ensure_ascii=False).encode()


@_errors_as_failure("outputs")
def read_outputs(answer, outputs: dict, num_rows: int) -> dict:
    """Returns arrays by name, of the `TensorInfo`s of a signature's outputs."""
    values = answer["outputs"]
    if len(outputs) == 1:
        values = dict.fromkeys(outputs, values)
    return {
        name: _array(name, values[name], info, num_rows)
        for name, info in outputs.items()
    }


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
    if info.dtype not in _DTYPES:
        raise ValueError(f"no values are known of the type {info.dtype}")
    if info.dtype == "DT_STRING":
        values = _decode(values)
    array = np.array(values, _DTYPES[info.dtype])
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
