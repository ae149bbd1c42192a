"""Addresses of TensorFlow Serving, and what its responses may contain.

`RestTransport` has the methods

    signatures(model, timeout) -> dict of `SignatureInfo` by name
    status(model, timeout) -> list of `VersionStatus`
    predict(model, signature, inputs, outputs, timeout) -> dict of arrays
    close()

A model is a `ModelSpec`, and a timeout is in seconds. Inputs are arrays of
`bytes`, of dtype object, by name; `outputs` is a dict of `TensorInfo` from
`signatures`. Each method sends one request and raises a `Failure` if there is
no valid response. Responses are not trusted.
"""

import contextlib
import math
import re
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np

from tfcopy import filesystem
from tfcopy.runtime.signatures import AskError
from tfcopy.terminal import one_line

# Status after which a request is repeated.
UNAVAILABLE = "UNAVAILABLE"
# Maximum bytes of a response; the attention of 32 texts of 200 words is a
# fifth.
LARGEST_ANSWER = 256 << 20
_SERVERS = ("grpc", "http", "https")  # gRPC is refused with a reason.
_HOST_AND_PORT = re.compile(r"[^/\\]+:\d+")
_DTYPES = {
    "DT_STRING": object,
    "DT_BOOL": bool,
    "DT_HALF": np.float16,
    "DT_FLOAT": np.float32,
    "DT_DOUBLE": np.float64,
    **{
        f"DT_{kind}{bits}": np.dtype(f"{kind}{bits}".lower())
        for kind in ("INT", "UINT")
        for bits in (8, 16, 32, 64)
    },
}


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


def too_large() -> Failure:
    """Returns the failure of a response beyond the size limit."""
    return Failure(
        "RESOURCE_EXHAUSTED",
        f"the response has more than {LARGEST_ANSWER:,} bytes; ask for less at "
        "once (--batch_size)",
    )


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


class Address(NamedTuple):
    """Address of a server.

    Attributes:
        host: Host name or IP address.
        port: Port; `None` if not given.
        path: Path before `/v1` in URLs.
        tls: Whether to use TLS.
    """

    host: str
    port: int | None
    path: str
    tls: bool


def is_server(where: str) -> bool:
    """Returns whether a text is the address of a server, not a folder."""
    if filesystem.is_url(where):
        return where.split("://")[0].lower() in _SERVERS
    return bool(_HOST_AND_PORT.fullmatch(where)) and not filesystem.exists(
        where
    )


def server_of(where: str) -> tuple[str | None, str]:
    """Splits `ADDRESS/MODEL` into the address and the name of the model.

    Returns:
        The address and the name; `None` and the text for a folder.

    Raises:
        AskError: If the name of the model is missing.
    """
    address, _, model = where.rpartition("/")
    if not is_server(address):
        address, model = None, where
    if not model or is_server(model):
        raise AskError(
            f"{where}: which model of the server? Give its name behind the "
            f"address, as in {where.rstrip('/')}/europarl_ps."
        )
    return address, model


def parse_address(text: str) -> Address:
    """Parses `host:port` or a URL; the protocol is REST.

    Raises:
        AskError: If the text is not an address.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        address = Address(
            parts.hostname,
            parts.port,
            quote(parts.path.rstrip("/"), safe="/%"),
            parts.scheme == "https",
        )
    except ValueError:
        address = None
    is_bare = "://" not in text
    if address is None or not _is_complete(address, parts, is_bare):
        raise AskError(
            f"{text}: not the address of a server. Expected host:port, "
            "http://host:port or https://host:port, of TensorFlow Serving's "
            "REST port."
        )
    return address


def _is_complete(address, parts, is_bare):
    if not address.host or parts.query or parts.fragment or parts.username:
        return False
    if is_bare and address.port is None:
        return False
    return parts.scheme in ("http", "https")


@contextlib.contextmanager
def expecting(what):
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


def check_shape(name, shape, info: TensorInfo, num_rows):
    """Checks that a tensor may be an output for a number of rows."""
    if info.rank not in (None, len(shape)):
        raise ValueError(f"{name} has {len(shape)} axes, not {info.rank}")
    if not shape or shape[0] != num_rows:
        answers = shape[0] if shape else "no"
        raise ValueError(f"{name} has {answers} rows, not {num_rows}")
    size = math.prod(shape) * info.numpy_dtype.itemsize
    if min(shape) < 0 or size > LARGEST_ANSWER:
        raise ValueError(f"{name} has the shape {list(shape)[:9]}")


def signature_infos(signatures: dict, info) -> dict[str, SignatureInfo]:
    """Returns the signatures by name, without initialisers of SavedModels.

    Args:
        signatures: Dict of `(inputs, outputs)`: dicts of tensor descriptions of
            the protocol, or `None`.
        info: Function from a tensor description to a `TensorInfo`.
    """
    return {
        name: SignatureInfo(
            *({k: info(x) for k, x in sorted((y or {}).items())} for y in both)
        )
        for name, both in sorted(signatures.items())
        if not name.startswith("__saved_model_")
    }
