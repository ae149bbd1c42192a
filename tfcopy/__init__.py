"""Sequence models that copy, point, plan and read definitions.

    tfcopy.load        loads an exported model, from a folder or a server
    tfcopy.Translator  answers texts by a model of your own
    tfcopy.export      exports it
    tfcopy.import_model  exports a published translator

The parts are modules: `tfcopy.layers`, `tfcopy.models`, `tfcopy.losses`,
`tfcopy.training`, `tfcopy.decoding`, `tfcopy.data`; `tfcopy.recipes` holds the
commands. `import tfcopy` takes no time, since a name is imported when it is
first used. `import tfcopy.models` registers all layers and models with Keras,
so that `keras.models.load_model` loads the models that contain them.
"""

import importlib

__version__ = "0.1.0"

_MODULES = ("data", "decoding", "evaluation", "layers", "losses", "models")
_MODULES += ("recipes", "serving", "tokens", "training")
# Names that users import from `tfcopy`, and the modules that define them.
_NAMES = {
    "ModelError": "tfcopy.runtime.signatures",
    "Translation": "tfcopy.runtime.translation_records",
    "Translator": "tfcopy.serving.servables.translator",
    "export": "tfcopy.serving.saved_model",
    "import_model": "tfcopy.serving.import_model",
    "load": "tfcopy.runtime.loading",
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
