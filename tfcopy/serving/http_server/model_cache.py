"""A cache of models, and models that are in memory only while it has them."""

import collections
import threading
from collections.abc import Callable

from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.rest_transport import UNAVAILABLE
from tfcopy.runtime.signatures import ModelError
from tfcopy.terminal import one_line


class ModelCache:
    """Cache of models in memory; the least recently used one is dropped.

    Args:
        count: Number of models that stay.
        open_model: Function of a key that opens its model. It opens one at a
            time, for the memory; others can be had meanwhile.
    """

    def __init__(self, count: int, open_model: Callable):
        self._count, self._open_model = count, open_model
        self._models = collections.OrderedDict()
        self._opening, self._using = threading.Lock(), threading.Lock()

    def get(self, key) -> ExportedModel:
        """Returns the model of a key."""
        model = self._get_loaded(key)
        if model is None:
            with self._opening:
                # Another thread may have opened it.
                model = self._get_loaded(key) or self._open(key)
        return model

    def _get_loaded(self, key):
        with self._using:
            if key in self._models:
                self._models.move_to_end(key)
            return self._models.get(key)

    def _open(self, key):
        model = self._open_model(key)
        with self._using:
            self._models[key] = model
            if len(self._models) > self._count:
                self._models.popitem(last=False)
        return model


class EvictableModel(ExportedModel):
    """A model of a folder that is in memory only while a cache has it.

    Args:
        model: The model, opened once: so a damaged one is found at the start.
        cache: The models in memory, by their `reopen`.
    """

    def __init__(self, model: ExportedModel, cache: ModelCache):
        self.name, self.config = model.name, model.config
        self.signatures, self.reopen = model.signatures, model.reopen
        self.batch_size, self.at_once = model.batch_size, model.at_once
        self._cache = cache

    def _ask_batch(self, signature, arrays):
        try:
            model = self._cache.get(self.reopen)
        except (ModelError, OSError) as error:
            # No fault of a text, so that the batch is not tried text by text.
            raise ModelError(one_line(error), UNAVAILABLE) from error
        return model._ask_batch(signature, arrays)
