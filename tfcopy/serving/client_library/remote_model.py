"""An exported model on a server, asked like one in this process."""

import functools

from tfcopy.serving.client_library.batched_model import BatchedModel
from tfcopy.serving.client_library.connection import Connection
from tfcopy.serving.client_library.signatures import Signature, check_whole


class RemoteModel(BatchedModel):
    """A model of TensorFlow Serving; stands for a `LocalModel`.

    Args:
        address: The server's address; see `Connection`. gRPC is faster, and
            REST needs neither gRPC nor TensorFlow.
        model: Its name.
        batch_size: Positive integer, the most examples of a request.
        at_once: Positive integer, the most requests under way for a question.
        **options: As in `Connection`: `version` or `label`, `deadline`,
            `retries`, `tls`, `root_certificate`.

    Raises:
        RequestError: If the server does not answer.
        AskError: If the server cannot be asked that way.
    """

    def __init__(
        self,
        address: str,
        model: str,
        *,
        batch_size: int = 32,
        at_once: int = 4,
        **options,
    ):
        check_whole(1, batch_size=batch_size, at_once=at_once)
        self.again = functools.partial(
            *(RemoteModel, address, model),
            batch_size=batch_size,
            at_once=at_once,
            **options,
        )
        self.batch_size = batch_size
        self.at_once = at_once
        self._connection = Connection(address, model, **options)
        self.name = self._connection.name
        self.config = {}  # A server keeps what the export remembered.
        self._infos = self._connection.signatures()
        self.signatures = {
            name: Signature(
                {k: _text_rank(x) for k, x in info.inputs.items()},
                tuple(info.outputs),
            )
            for name, info in self._infos.items()
        }

    def _ask_batch(self, signature, arrays):
        outputs = self._infos[signature].outputs
        return self._connection.predict(signature, arrays, outputs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends what is under way, too."""
        self._connection.close()


def _text_rank(info):
    return info.rank if info.dtype == "DT_STRING" else 0
