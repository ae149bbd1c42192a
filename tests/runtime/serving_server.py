"""A server for tests that speaks TensorFlow Serving's REST protocol.

What it answers comes from `LocalModel`s; how it answers, and its errors, are
as documented for TensorFlow Serving and in its source.
"""

import contextlib
import dataclasses
import functools
import http.server
import os
import ssl
import threading
import time

from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import get_model_status_pb2

from tests.runtime.serving_rest import RestHandler, Status
from tfcopy.runtime.signatures import AskError


@dataclasses.dataclass
class Call:
    """A request for predict, metadata or status."""

    method: str
    signature: str = ""
    rows: int = 0


class ServingServer:
    """Models behind a port of this machine.

    Args:
        models: Dict of name to dict of version to `LocalModel`.
        labels: Dict of label to version, of all models.
        tls: Optional `(key, certificate)`, paths of PEM files.

    Attributes:
        calls: List of `Call`, of requests that were understood.
        delay: Function of a `Call` to seconds by which its answer comes late.
        loading: Code of the error of a server whose models are not there yet,
            "NOT_FOUND" or "UNAVAILABLE"; `None` if they are.
    """

    def __init__(self, models, labels=None, tls=None):
        self.models = models
        self.labels = labels or {}
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
        handler = functools.partial(RestHandler, self)
        self._http = http.server.ThreadingHTTPServer(
            ("localhost", self.port), handler
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

    # What requests ask; `spec` is `(name, version, label)`.

    def predict(self, spec, signature, read):
        """Dict of arrays; `read` makes the inputs of a `SignatureDef`."""
        call = self._begin("predict", signature)
        _, model = self._find(spec)
        known = signature_defs(model.name)
        if signature not in known:
            raise Status(
                "INVALID_ARGUMENT",
                f'Serving signature name: "{signature}" not found in '
                "signature def",
            )
        inputs = read(known[signature])
        call.rows = max(map(len, inputs.values()))
        self._fail(call)
        try:
            lists = {name: x.tolist() for name, x in inputs.items()}
            return model.ask(signature, lists)
        except AskError as error:
            raise Status("INVALID_ARGUMENT", str(error)) from None

    def metadata(self, spec):
        """`(version, map of SignatureDef by name)`."""
        self._fail(self._begin("metadata"))
        version, model = self._find(spec)
        return version, signature_defs(model.name)

    def status(self, spec):
        """A `GetModelStatusResponse`."""
        self._fail(self._begin("status"))
        name, version, _ = spec
        versions = {*self.models.get(name, {})}
        if version is not None:
            versions &= {version}
        if not versions:
            raise Status(
                "NOT_FOUND", f"Could not find any versions of model {name}"
            )
        response = get_model_status_pb2.GetModelStatusResponse()
        for number in sorted(versions, reverse=True):
            state = "LOADING" if self.loading else "AVAILABLE"
            response.model_version_status.add(version=number, state=state)
        return response

    def _begin(self, *arguments):
        call = Call(*arguments)
        self.calls.append(call)
        return call

    def _fail(self, call):
        time.sleep(self.delay(call))
        with contextlib.suppress(IndexError):
            raise self._failures.pop(0)

    def _find(self, spec):
        """`(version, model)`."""
        name, version, label = spec
        versions = self.models.get(name, {})
        if self.loading:
            raise Status(self.loading, f"Servable not found: Latest({name})")
        if label is not None:
            if label not in self.labels:
                raise Status(
                    "INVALID_ARGUMENT",
                    f"Unrecognized servable version label: {label}",
                )
            version = self.labels[label]
        elif version is None:
            version = max(versions, default=None)
        if version not in versions:
            raise Status("NOT_FOUND", f"Servable not found: Specific({name})")
        return version, versions[version]


@functools.cache
def signature_defs(folder):
    """Those of a SavedModel, all of them."""
    with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
        saved = saved_model_pb2.SavedModel.FromString(file.read())
    return saved.meta_graphs[0].signature_def
