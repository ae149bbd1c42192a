"""gRPC requests to TensorFlow Serving.

It needs the extra `client`, and TensorFlow for its protocol buffers.
"""

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tfcopy.runtime import transport
from tfcopy.runtime.signatures import check_process
from tfcopy.runtime.transport import (
    Address,
    Failure,
    ModelSpec,
    TensorInfo,
    VersionStatus,
    check_shape,
    expecting,
    signature_infos,
)

_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    # `Connection` retries; reconnection to a restarted server must be fast.
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
# Beginnings of gRPC's messages if the server was not reached.
_UNREACHED = (
    "deadline exceeded",
    "failed to connect",
    "dns resolution failed",
    "errors resolving",
    "empty address list",
    "connection reset",
    "recvmsg",
    "sendmsg",
    "socket closed",
    "stream removed",
)


class GrpcTransport:
    """Transport by gRPC; see `tfcopy.runtime.transport`.

    Args:
        address: The server's `Address`.
        root_certificate: Optional path of a PEM file of root certificates;
            gRPC's own by default.

    Raises:
        OSError: If the certificates cannot be read.
    """

    protocol = "gRPC"

    def __init__(self, address: Address, root_certificate=None):
        host = f"[{address.host}]" if ":" in address.host else address.host
        target = f"{host}:{address.port}"
        largest = ("grpc.max_receive_message_length", transport.LARGEST_ANSWER)
        options = [largest, *_OPTIONS]
        if address.tls:
            credentials = _credentials(root_certificate)
            self._channel = grpc.secure_channel(target, credentials, options)
        else:
            self._channel = grpc.insecure_channel(target, options)
        self._predictions = prediction_service_pb2_grpc.PredictionServiceStub(
            self._channel
        )
        self._models = model_service_pb2_grpc.ModelServiceStub(self._channel)

    def signatures(self, model: ModelSpec, timeout) -> dict:
        request = get_model_metadata_pb2.GetModelMetadataRequest(
            metadata_field=["signature_def"]
        )
        call = self._predictions.GetModelMetadata
        response = _ask(call, request, model, timeout)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        with expecting("signatures"):
            try:
                response.metadata["signature_def"].Unpack(signatures)
            except DecodeError as error:
                raise ValueError(str(error)) from None
            return signature_infos(
                {
                    name: (x.inputs, x.outputs)
                    for name, x in signatures.signature_def.items()
                },
                _info,
            )

    def status(self, model: ModelSpec, timeout) -> list[VersionStatus]:
        request = get_model_status_pb2.GetModelStatusRequest()
        response = _ask(self._models.GetModelStatus, request, model, timeout)
        states = get_model_status_pb2.ModelVersionStatus.State
        with expecting("status"):
            return [
                VersionStatus(
                    x.version, states.Name(x.state), x.status.error_message
                )
                for x in response.model_version_status
            ]

    def predict(
        self, model: ModelSpec, signature: str, inputs, outputs, timeout
    ) -> dict[str, np.ndarray]:
        request = predict_pb2.PredictRequest()
        request.model_spec.signature_name = signature
        for name, texts in inputs.items():
            tensor = request.inputs[name]
            tensor.dtype = types_pb2.DT_STRING
            for size in texts.shape:
                tensor.tensor_shape.dim.add(size=size)
            tensor.string_val.extend(texts.ravel().tolist())
        response = _ask(self._predictions.Predict, request, model, timeout)
        rows = len(next(iter(inputs.values())))
        with expecting("outputs"):
            return {
                name: _array(name, response.outputs, info, rows)
                for name, info in outputs.items()
            }

    def close(self):
        """Closes the channel, and cancels pending requests."""
        self._channel.close()


def _credentials(path):
    if path is None:
        return grpc.ssl_channel_credentials()
    with open(path, "rb") as file:
        return grpc.ssl_channel_credentials(file.read())


def _ask(call, request, model, timeout):
    """Calls a method of a stub."""
    spec = request.model_spec
    spec.name = model.name
    if model.version is not None:
        spec.version.value = model.version
    elif model.label is not None:
        spec.version_label = model.label
    check_process(model.name, "gRPC")
    try:
        return call(request, timeout=timeout)
    except grpc.RpcError as error:
        details = error.details() or ""
        if "message larger than max" in details:
            raise transport.too_large() from None
        is_reached = not details.lower().startswith(_UNREACHED)
        if not is_reached:  # The reason is at the end.
            details = details.rpartition(": ")[2].strip("[]")
        raise Failure(error.code().name, details, is_reached) from None


def _array(name, tensors, info, num_rows):
    if name not in tensors:
        raise ValueError(f"there is no {name}")
    tensor = tensors[name]
    dtype = types_pb2.DataType.Name(tensor.dtype)
    if dtype != info.dtype:
        raise ValueError(f"{name} is of the type {dtype}, not {info.dtype}")
    # A single value may be broadcast to a shape.
    shape = [dimension.size for dimension in tensor.tensor_shape.dim]
    check_shape(name, shape, info, num_rows)
    return tf.make_ndarray(tensor)


def _info(tensor):
    shape = tensor.tensor_shape
    rank = None if shape.unknown_rank else len(shape.dim)
    return TensorInfo(types_pb2.DataType.Name(tensor.dtype), rank)
