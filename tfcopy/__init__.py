"""Sequence models that copy, point, plan and read definitions.

`tfcopy.load` loads an exported model for inference. The parts are modules:
`tfcopy.layers`, `tfcopy.models`, `tfcopy.losses`, `tfcopy.training`,
`tfcopy.decoding`, `tfcopy.data`; `tfcopy.recipes` holds the commands. `import
tfcopy` takes no time, since a module is imported when it is first used. When
Keras is imported as well, all layers and models are registered with it, and
`keras.models.load_model` loads the models that contain them.
"""

import importlib
import sys

from wrapt import register_post_import_hook

__version__ = "0.1.0"

_MODULES = ("data", "decoding", "evaluation", "layers", "losses", "models")
_MODULES += ("recipes", "serving", "tokens", "training")
# Names that users import from `tfcopy`, and the modules that define them.
_NAMES = {
    "AskError": "tfcopy.runtime.signatures",
    "Translation": "tfcopy.runtime.answer_lines",
    "load": "tfcopy.runtime.exported_model",
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
    """Imports the modules whose classes register themselves with Keras."""
    parts = [x for name, x in sys.modules.items() if name[:7] == "tfcopy."]
    # If a part of tfcopy is importing Keras, that part registers its own
    # classes, and cannot be imported a second time meanwhile.
    if not any(x.__spec__._initializing for x in parts):
        importlib.import_module("tfcopy.models")
        if keras.backend.backend() == "tensorflow":
            importlib.import_module("tfcopy.training")


register_post_import_hook(_register, "keras")
