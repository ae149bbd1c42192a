"""A server for tests that speaks TensorFlow Serving's REST protocol.

What it answers comes from `LocalModel`s; how it answers, and its errors, are
as documented for TensorFlow Serving and in its source.

Reference: [RESTful API](https://www.tensorflow.org/tfx/serving/api_rest).
"""

import base64
import contextlib
import dataclasses
import functools
import http.server
import json
import os
import re
import ssl
import threading
import time
from urllib.parse import unquote

from google.protobuf import json_format
from tensorflow.core.protobuf import saved_model_pb2

from tfcopy.runtime.signatures import ModelError

_HTTP = {
    "INVALID_ARGUMENT": 400,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_REQUEST = re.compile(
    r"/v1/models/([^/:]+)(?:/versions/(\d+))?"
    r"(/metadata|:predict)?"
)


class Status(Exception):
    """An error of the server: a code of gRPC, and a message."""


@dataclasses.dataclass
class Call:
    """A request for predictions, metadata or the status."""

    rows: int = 0


class ServingServer:
    """Models behind a port of this machine.

    Args:
        models: Dict of name to dict of version to `LocalModel`.
        tls: Optional `(key, certificate)`, paths of PEM files.

    Attributes:
        calls: List of `Call`, of requests that were understood.
        delay: Function of a `Call` to seconds by which its answer comes late.
        loading: Code of the error of a server whose models are not there yet,
            "NOT_FOUND" or "UNAVAILABLE"; `None` if they are.
    """

    def __init__(self, models, tls=None):
        self.models = models
        self.tls = tls
        self.port = 0
        self.reset()
        self.start()

    @property
    def address(self):
        scheme = "https" if self.tls else "http"
        return f"{scheme}://localhost:{self.port}"

    def reset(self):
        self.calls = []
        self.delay = lambda call: 0
        self.loading = None
        self._failures = []

    def fail(self, times, code, message="told to fail"):
        """The next calls fail so."""
        self._failures += [Status(code, message)] * times

    def start(self):
        """Listens, at the same port each time."""
        self._http = http.server.ThreadingHTTPServer(
            ("localhost", self.port), functools.partial(_Handler, self)
        )
        self.port = self._http.server_port
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.tls[1], self.tls[0])
            self._http.socket = context.wrap_socket(
                self._http.socket, server_side=True
            )
        threading.Thread(
            target=self._http.serve_forever, args=(0.02,), daemon=True
        ).start()

    def stop(self):
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path, body):
        """The JSON value of a GET, whose body is `None`, or of a POST."""
        name, version, what = _REQUEST.fullmatch(path).groups()
        assert (what == ":predict") == (body is not None)
        request = json.loads(body or '{"inputs": {}}')
        inputs = {k: _decoded(x) for k, x in request["inputs"].items()}
        call = Call(max(map(len, inputs.values()), default=0))
        self.calls.append(call)
        time.sleep(self.delay(call))
        with contextlib.suppress(IndexError):
            raise self._failures.pop(0)
        name, version = unquote(name), version and int(version)
        if what is None:
            return self._status(name, version)
        version, model = self._find(name, version)
        if what == "/metadata":
            spec = {"name": name, "signature_name": "", "version": str(version)}
            signatures = {"signature_def": signature_defs(model.name)}
            metadata = {"signature_def": signatures}
            return {"model_spec": spec, "metadata": metadata}
        try:
            outputs = model.ask(request["signature_name"], inputs)
        except ModelError as error:
            raise Status("INVALID_ARGUMENT", str(error)) from None
        lists = {
            key: _encoded(x.tolist(), key.endswith("_bytes"))
            for key, x in outputs.items()
        }
        if len(lists) == 1:
            (lists,) = lists.values()
        return {"outputs": lists}

    def _status(self, name, version):
        versions = {*self.models.get(name, {})}
        if version is not None:
            versions &= {version}
        if not versions:
            message = f"Could not find any versions of model {name}"
            raise Status("NOT_FOUND", message)
        fixed = {
            "state": "LOADING" if self.loading else "AVAILABLE",
            "status": {"error_code": "OK", "error_message": ""},
        }
        numbers = sorted(versions, reverse=True)
        states = [{"version": str(number), **fixed} for number in numbers]
        return {"model_version_status": states}

    def _find(self, name, version):
        """`(version, model)`."""
        versions = self.models.get(name, {})
        if self.loading:
            raise Status(self.loading, f"Servable not found: Latest({name})")
        if version is None:
            version = max(versions, default=None)
        if version not in versions:
            raise Status("NOT_FOUND", f"Servable not found: Specific({name})")
        return version, versions[version]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, serving, *arguments):
        self.serving = serving
        super().__init__(*arguments)

    def do_GET(self, body=None):
        try:
            code, answer = 200, self.serving.answer(self.path, body)
        except Status as status:
            name, message = status.args
            code, answer = _HTTP[name], {"error": message}
        # Texts that are not UTF-8 are written as they are.
        body = json.dumps(answer, ensure_ascii=False)
        body = body.encode("utf-8", "surrogateescape")
        with contextlib.suppress(ConnectionError):
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def do_POST(self):
        self.do_GET(self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, *arguments):
        pass


@functools.cache
def signature_defs(folder):
    """Those of a SavedModel, all of them, as JSON has them."""
    with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
        saved = saved_model_pb2.SavedModel.FromString(file.read())
    return {
        name: json_format.MessageToDict(
            signature,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        for name, signature in saved.meta_graphs[0].signature_def.items()
    }


def _decoded(value):
    if isinstance(value, list):
        return [_decoded(x) for x in value]
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    return value.encode()


def _encoded(value, as_bytes):
    """Nested lists for JSON; tensors named `..._bytes` in base 64."""
    if isinstance(value, list):
        return [_encoded(x, as_bytes) for x in value]
    if not isinstance(value, bytes):
        return value
    if as_bytes:
        return {"b64": base64.b64encode(value).decode()}
    return value.decode("utf-8", "surrogateescape")
