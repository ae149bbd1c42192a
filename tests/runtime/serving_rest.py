"""TensorFlow Serving's REST API, for `ServingServer`.

Reference: [RESTful API](https://www.tensorflow.org/tfx/serving/api_rest).
"""

import base64
import contextlib
import http.server
import json
import re
from urllib.parse import unquote

import numpy as np
from google.protobuf import json_format

_HTTP = {
    "INVALID_ARGUMENT": 400,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_PREDICT = re.compile(
    r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?:predict"
)
_TELL = re.compile(
    r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?(/metadata)?"
)


class Status(Exception):
    """An error of the server: a code of gRPC, and a message."""

    def __init__(self, code, message):
        super().__init__(code, message)
        self.code = code
        self.message = message


class RestHandler(http.server.BaseHTTPRequestHandler):
    """Answers REST requests for a `ServingServer`."""

    protocol_version = "HTTP/1.1"

    def __init__(self, serving, *arguments):
        self.serving = serving
        super().__init__(*arguments)

    def do_GET(self):
        self._answer(self._tell)

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        self._answer(lambda: self._predict(body))

    def log_message(self, *arguments):
        pass

    def _answer(self, function):
        try:
            code, answer = 200, function()
        except Status as status:
            code = _HTTP[status.code]
            answer = {"error": status.message}
        # Texts that are not UTF-8 are written as they are.
        body = json.dumps(answer, ensure_ascii=False)
        body = body.encode("utf-8", "surrogateescape")
        with contextlib.suppress(ConnectionError):
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def _tell(self):
        *spec, is_metadata = self._match(_TELL)
        if not is_metadata:
            return _dict(self.serving.status(spec))
        version, signatures = self.serving.metadata(spec)
        return {
            "model_spec": {
                "name": spec[0],
                "signature_name": "",
                "version": str(version),
            },
            "metadata": {
                "signature_def": {
                    "signature_def": {
                        k: _dict(x) for k, x in signatures.items()
                    }
                }
            },
        }

    def _predict(self, body):
        spec = self._match(_PREDICT)
        try:
            request = json.loads(body)
        except ValueError as error:
            raise Status("INVALID_ARGUMENT", f"JSON Parse error: {error}")
        is_rows = "instances" in request
        if is_rows == ("inputs" in request):
            raise Status(
                "INVALID_ARGUMENT", "Missing 'inputs' or 'instances' key"
            )
        outputs = self.serving.predict(
            spec,
            request.get("signature_name", "serving_default"),
            lambda signature_def: _inputs(request, signature_def),
        )
        lists = {
            key: _listed(x.tolist(), key.endswith("_bytes"))
            for key, x in outputs.items()
        }
        if is_rows:
            rows = [dict(zip(lists, row)) for row in zip(*lists.values())]
            if len(lists) == 1:
                rows = [next(iter(row.values())) for row in rows]
            return {"predictions": rows}
        if len(lists) == 1:
            lists = next(iter(lists.values()))
        return {"outputs": lists}

    def _match(self, pattern):
        found = pattern.fullmatch(self.path)
        if not found:
            raise Status(
                "INVALID_ARGUMENT",
                f"Malformed request: {self.command} {self.path}",
            )
        name, version, label, *rest = found.groups()
        version = int(version) if version else None
        return unquote(name), version, label and unquote(label), *rest


def _dict(message):
    return json_format.MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )


def _inputs(request, signature_def):
    """Arrays by name."""
    ranks = {
        key: len(info.tensor_shape.dim)
        for key, info in signature_def.inputs.items()
    }
    inputs = request.get("inputs")
    if "instances" in request:
        inputs = _columns(request["instances"], ranks)
    if not _is_object(inputs):
        inputs = dict.fromkeys(ranks, inputs)
    return {key: _tensor(key, inputs, rank) for key, rank in ranks.items()}


def _is_object(value):
    return isinstance(value, dict) and set(value) != {"b64"}


def _columns(rows, ranks):
    if not isinstance(rows, list) or not rows:
        raise Status("INVALID_ARGUMENT", "No values in 'instances' array")
    if not _is_object(rows[0]):
        return rows
    return {key: [row[key] for row in rows] for key in ranks}


def _tensor(key, inputs, rank):
    """An array of texts; its shape is that of the first of each list."""
    if key not in inputs:
        raise Status(
            "INVALID_ARGUMENT",
            f"Missing named input: {key} in 'inputs' object.",
        )
    value, shape = inputs[key], []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    if len(shape) != rank:
        raise Status(
            "INVALID_ARGUMENT", f"Expected rank {rank}, got {len(shape)}"
        )
    array = np.empty(shape, object)
    array[...] = _bytes(inputs[key])
    return array


def _bytes(value):
    if isinstance(value, list):
        return [_bytes(x) for x in value]
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    if not isinstance(value, str):
        raise Status("INVALID_ARGUMENT", f"JSON Value: {value} is no string")
    return value.encode()


def _listed(value, as_bytes):
    """Nested lists for JSON; tensors named `..._bytes` in base 64."""
    if isinstance(value, list):
        return [_listed(x, as_bytes) for x in value]
    if not isinstance(value, bytes):
        return value
    if as_bytes:
        return {"b64": base64.b64encode(value).decode()}
    return value.decode("utf-8", "surrogateescape")
