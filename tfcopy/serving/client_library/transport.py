"""Common parts of the two protocols of TensorFlow Serving.

A transport, `GrpcTransport` or `RestTransport`, has the methods

    signatures(model, timeout) -> dict of `SignatureInfo` by name
    status(model, timeout) -> list of `VersionStatus`
    predict(model, signature, inputs, outputs, timeout) -> dict of arrays
    close()

whose model is a `ModelSpec`; timeouts are seconds. Inputs are arrays of
`bytes`, of dtype object, by name; `outputs` is what `signatures` said of them.
Each sends one request and raises a `Failure` if it has no answer, or one that
is not what was asked for: a server may be any.
"""

import contextlib
import math
import re
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np

from tfcopy import filesystem
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import one_line

# The name of gRPC's status that is worth another try.
UNAVAILABLE = "UNAVAILABLE"
# Bytes of an answer; the attention of 32 texts of 200 words has a fifth.
LARGEST_ANSWER = 256 << 20
_SERVERS = ("grpc", "http", "https")
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
    """A request without an answer.

    Args:
        code: Name of a status of gRPC, such as "NOT_FOUND".
        details: What is known about it.
        is_reached: Whether the failure was reported by the server itself.
    """

    def __init__(self, code: str, details: str, is_reached: bool = True):
        super().__init__(code, details)
        self.code = code
        self.details = one_line(details).rstrip(".")[:300] or "no reason given"
        self.is_reached = is_reached


def too_large() -> Failure:
    """The failure of an answer that is not read to its end."""
    return Failure(
        "RESOURCE_EXHAUSTED",
        f"its answer has more than {LARGEST_ANSWER:,} bytes; ask for less at "
        "once (--batch_size)",
    )


class ModelSpec(NamedTuple):
    """A model of a server; its highest version if none is given."""

    name: str
    version: int | None = None
    label: str | None = None


class TensorInfo(NamedTuple):
    """Shape and type of a tensor in a signature.

    Attributes:
        dtype: Name in TensorFlow's protocol buffers, such as "DT_STRING".
        rank: Number of its axes, `None` if unknown.
    """

    dtype: str
    rank: int | None

    @property
    def numpy_dtype(self) -> np.dtype:
        """The type of its values; a ValueError if they cannot be read."""
        if self.dtype not in _DTYPES:
            raise ValueError(f"no values are known of the type {self.dtype}")
        return np.dtype(_DTYPES[self.dtype])


class SignatureInfo(NamedTuple):
    """Inputs and outputs of a signature, by name, in order of the names."""

    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]


class VersionStatus(NamedTuple):
    """State of a version of a model.

    Attributes:
        version: Its number.
        state: START, LOADING, AVAILABLE, UNLOADING or END.
        message: What went wrong, if anything did.
    """

    version: int
    state: str
    message: str = ""


class Address(NamedTuple):
    """Address of a server.

    Attributes:
        is_rest: Whether it is asked by REST, not by gRPC.
        host: Its name or number.
        port: Its port; `None` if not given.
        path: What comes before `/v1` in URLs.
        tls: Whether it is asked through TLS.
    """

    is_rest: bool
    host: str
    port: int | None
    path: str
    tls: bool


def is_server(where: str) -> bool:
    """Returns whether a model's place is a server's address, not a folder."""
    if filesystem.is_url(where):
        return where.split("://")[0].lower() in _SERVERS
    return bool(_HOST_AND_PORT.fullmatch(where)) and not filesystem.exists(
        where
    )


def server_of(where: str) -> tuple[str | None, str]:
    """Splits `ADDRESS/MODEL` into the server's address and the model's name.

    Returns:
        Both; for the folder of a model `None`, and the folder.

    Raises:
        AskError: If it is the address of a server without a model's name.
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
    """Reads `host:port` or `grpc://host:port` (gRPC), or a URL (REST).

    Raises:
        AskError: If it is neither.
    """
    try:
        parts = urlsplit(text if "://" in text else f"grpc://{text}")
        address = Address(
            parts.scheme in ("http", "https"),
            parts.hostname,
            parts.port,
            quote(parts.path.rstrip("/"), safe="/%"),
            parts.scheme == "https",
        )
    except ValueError:
        address = None
    if address is None or not _is_complete(address, parts):
        raise AskError(
            f"{text}: not the address of a server. Expected host:port or "
            "grpc://host:port for gRPC, http://host:port or https://host:port "
            "for REST."
        )
    return address


def _is_complete(address, parts):
    if not address.host or parts.query or parts.fragment or parts.username:
        return False
    is_grpc = parts.scheme == "grpc" and address.port and not address.path
    return bool(address.is_rest or is_grpc)


@contextlib.contextmanager
def expecting(what):
    """For reading what a server answers."""
    try:
        yield
    except (
        *(ValueError, LookupError, TypeError, AttributeError),
        *(ArithmeticError, RecursionError, MemoryError),
    ) as error:
        reason = f": {error}" if type(error) is ValueError else ""
        raise Failure(
            "UNKNOWN",
            f"its answer has not {what} as TensorFlow Serving's has{reason}",
        ) from None


def check_shape(name, shape, info: TensorInfo, num_rows):
    """Raises a ValueError if a tensor cannot be the answer to so many rows."""
    if info.rank not in (None, len(shape)):
        raise ValueError(f"{name} has {len(shape)} axes, not {info.rank}")
    if not shape or shape[0] != num_rows:
        answers = shape[0] if shape else "no"
        raise ValueError(f"{name} has {answers} rows, not {num_rows}")
    size = math.prod(shape) * info.numpy_dtype.itemsize
    if min(shape) < 0 or size > LARGEST_ANSWER:
        raise ValueError(f"{name} has the shape {list(shape)[:9]}")


def signature_infos(signatures: dict, info) -> dict[str, SignatureInfo]:
    """The signatures by name, without those that initialise a SavedModel.

    Args:
        signatures: Dict of `(inputs, outputs)`, dicts of what a protocol tells
            of a tensor, or `None`.
        info: Function of that to a `TensorInfo`.
    """
    return {
        name: SignatureInfo(
            *({k: info(x) for k, x in sorted((y or {}).items())} for y in both)
        )
        for name, both in sorted(signatures.items())
        if not name.startswith("__saved_model_")
    }
