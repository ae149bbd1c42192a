"""Sequence models that copy, point, plan and read definitions.

`tfcopy.load` opens an exported model, to ask it. The parts are modules of
their own: `tfcopy.layers`, `tfcopy.models`, `tfcopy.losses`,
`tfcopy.training`, `tfcopy.decoding`, `tfcopy.data`; `tfcopy.recipes` holds the
commands. To import `tfcopy` takes no time, since it imports none of them before
they are used. As soon as Keras is imported, too, all layers and models are
registered, and `keras.models.load_model` opens what was saved of them.
"""

import importlib
import sys

from wrapt import register_post_import_hook

__version__ = "0.1.0"

_MODULES = ("data", "decoding", "evaluation", "layers", "losses", "models")
_MODULES += ("recipes", "serving", "tokens", "training")
# What users ask for, and the modules that hold it.
_NAMES = {
    "AskError": "tfcopy.serving.client_library.signatures",
    "Translation": "tfcopy.serving.client_library.answer_lines",
    "load": "tfcopy.serving.client_library.exported_model",
}
__all__ = ["__version__", *_MODULES, *_NAMES]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"tfcopy.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'tfcopy' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})


def _register(keras):
    """Imports all classes that Keras is to know, now that it is there."""
    parts = [x for name, x in sys.modules.items() if name[:7] == "tfcopy."]
    # A part of tfcopy that is just importing Keras registers its own classes,
    # and cannot be imported again meanwhile.
    if not any(x.__spec__._initializing for x in parts):
        importlib.import_module("tfcopy.models")
        if keras.backend.backend() == "tensorflow":
            importlib.import_module("tfcopy.training")


register_post_import_hook(_register, "keras")
