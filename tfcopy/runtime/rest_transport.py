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
from urllib.parse import quote

import numpy as np

from tfcopy.file_forms import JsonError, parse_json
from tfcopy.runtime import transport
from tfcopy.runtime.transport import (
    UNAVAILABLE,
    Address,
    Failure,
    ModelSpec,
    TensorInfo,
    VersionStatus,
    check_shape,
    expecting,
    signature_infos,
)

_CHUNK = 1 << 20


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
        if size > transport.LARGEST_ANSWER:
            raise transport.too_large()
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
    """Transport by REST; see `tfcopy.runtime.transport`.

    Args:
        address: The server's `Address`.
        root_certificate: Optional path of a PEM file of root certificates; the
            system's by default.

    Raises:
        OSError: If the certificates cannot be read.
    """

    def __init__(self, address: Address, root_certificate=None):
        self.address = address
        self._context = None
        if address.tls:
            self._context = ssl.create_default_context(cafile=root_certificate)

    def signatures(self, model: ModelSpec, timeout) -> dict:
        answer = self._ask(_path(model) + "/metadata", None, timeout)
        with expecting("signatures"):
            signatures = answer["metadata"]["signature_def"]["signature_def"]
            return signature_infos(
                {
                    name: (x.get("inputs"), x.get("outputs"))
                    for name, x in signatures.items()
                },
                _info,
            )

    def status(self, model: ModelSpec, timeout) -> list[VersionStatus]:
        answer = self._ask(_path(model), None, timeout)
        with expecting("status"):
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
            "inputs": {k: _encoded(x.tolist()) for k, x in inputs.items()},
        }
        body = json.dumps(request, ensure_ascii=False).encode()
        answer = self._ask(_path(model) + ":predict", body, timeout)
        with expecting("outputs"):
            values = answer["outputs"]
            if len(outputs) == 1:
                values = dict.fromkeys(outputs, values)
            arrays = {
                name: _array(name, values[name], info, max(1, rows))
                for name, info in outputs.items()
            }
        return arrays if rows else {k: x[:0] for k, x in arrays.items()}

    def close(self):
        """Does nothing: each request has a connection of its own."""

    def _ask(self, path, body, timeout):
        """Returns the JSON object of a response to a GET, or to a POST."""
        connection, path = self._connection(timeout), self.address.path + path
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
        with expecting("JSON"):
            return parse_json(content)

    def _connection(self, timeout):
        host, port = self.address.host, self.address.port
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(
            host, port, timeout=timeout, context=self._context
        )


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
    except (JsonError, LookupError, TypeError):
        return f"HTTP {response.status} {response.reason}: {content[:200]}"


def _info(tensor):
    shape = tensor.get("tensor_shape", {})
    rank = None if shape.get("unknown_rank") else len(shape.get("dim", ()))
    return TensorInfo(_text(tensor["dtype"]), rank)


def _text(x):
    if not isinstance(x, str):
        raise TypeError
    return x


def _encoded(texts):
    """Returns nested lists of `bytes` in the form of JSON."""
    if isinstance(texts, list):
        return [_encoded(x) for x in texts]
    try:
        return texts.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(texts).decode()}


def _decoded(texts):
    """Inverts `_encoded`."""
    if isinstance(texts, list):
        return [_decoded(x) for x in texts]
    if isinstance(texts, dict):
        return base64.b64decode(texts["b64"])
    try:
        return texts.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # JSON may contain half a character.
        return texts.encode("utf-8", "replace")


def _array(name, values, info, num_rows):
    """Returns an array of nested lists; NaN and Infinity are numbers."""
    if info.dtype == "DT_STRING":
        values = _decoded(values)
    array = np.array(values, info.numpy_dtype)
    if not array.size and info.rank is not None:
        # Nested lists end at an axis of size 0.
        array = array.reshape(array.shape + (0,) * (info.rank - array.ndim))
    check_shape(name, array.shape, info, num_rows)
    if array.dtype == object and not all(type(x) is bytes for x in array.flat):
        raise ValueError(f"{name} has lists of different lengths")
    return array
