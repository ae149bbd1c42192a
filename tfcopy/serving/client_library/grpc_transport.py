"""gRPC requests to TensorFlow Serving.

Needs what the extra `client` installs, and TensorFlow for its protocol
buffers.
"""

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tfcopy.serving.client_library.transport import (
    Address,
    Failure,
    ModelSpec,
    TensorInfo,
    VersionStatus,
    signature_infos,
)

_OPTIONS = [
    # Attention is larger than 4 MB.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # `Connection` tries again; a server that is back is to be found soon.
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
# How gRPC's messages begin if the server was not reached.
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
    """Asks by gRPC; see `tfcopy.serving.client_library.transport`.

    Args:
        address: The server's `Address`.
        root_certificate: Optional path of the certificates, PEM, that vouch
            for the server; by default those that gRPC brings do.

    Raises:
        OSError: If the certificates cannot be read.
    """

    protocol = "gRPC"

    def __init__(self, address: Address, root_certificate=None):
        host = f"[{address.host}]" if ":" in address.host else address.host
        target = f"{host}:{address.port}"
        if address.tls:
            credentials = _credentials(root_certificate)
            self._channel = grpc.secure_channel(target, credentials, _OPTIONS)
        else:
            self._channel = grpc.insecure_channel(target, _OPTIONS)
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
        response.metadata["signature_def"].Unpack(signatures)
        return signature_infos(
            {
                name: (_infos(x.inputs), _infos(x.outputs))
                for name, x in signatures.signature_def.items()
            }
        )

    def status(self, model: ModelSpec, timeout) -> list[VersionStatus]:
        request = get_model_status_pb2.GetModelStatusRequest()
        response = _ask(self._models.GetModelStatus, request, model, timeout)
        states = get_model_status_pb2.ModelVersionStatus.State
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
        return {k: tf.make_ndarray(x) for k, x in response.outputs.items()}

    def close(self):
        """Ends what is under way, too."""
        self._channel.close()


def _credentials(path):
    if path is None:
        return grpc.ssl_channel_credentials()
    with open(path, "rb") as file:
        return grpc.ssl_channel_credentials(file.read())


def _ask(call, request, model, timeout):
    """What a method of a stub answers."""
    spec = request.model_spec
    spec.name = model.name
    if model.version is not None:
        spec.version.value = model.version
    elif model.label is not None:
        spec.version_label = model.label
    try:
        return call(request, timeout=timeout)
    except grpc.RpcError as error:
        details = error.details() or ""
        is_reached = not details.lower().startswith(_UNREACHED)
        if not is_reached:  # The reason comes last.
            details = details.rpartition(": ")[2].strip("[]")
        raise Failure(error.code().name, details, is_reached) from None


def _infos(tensors):
    return {
        name: TensorInfo(
            types_pb2.DataType.Name(x.dtype), _rank(x.tensor_shape)
        )
        for name, x in tensors.items()
    }


def _rank(shape):
    return None if shape.unknown_rank else len(shape.dim)
