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

__version__ = "0.1.0"

_MODULES = ("data", "decoding", "evaluation", "layers", "losses", "models")
_MODULES += ("recipes", "serving", "tokens", "training")
# Names that users import from `tfcopy`, and the modules that define them.
_NAMES = {
    "ModelError": "tfcopy.runtime.signatures",
    "Translation": "tfcopy.runtime.translation_records",
    "load": "tfcopy.runtime.loading",
}
__all__ = ["__version__", *_MODULES, *_NAMES]
# Packages that not everything needs, and the extras that install them.
_TRAIN = ("keras", "keras_hub", "rouge_score", "sacrebleu", "tensorboard")
_TRAIN += ("tensorflow", "tensorflow_datasets", "tensorflow_text", "yaml")
_SERVE = ("fastapi_offline", "limits", "prometheus_client", "py3langid")
_SERVE += ("python_multipart",)
_EXTRAS = {
    **dict.fromkeys(_TRAIN, "train"),
    **dict.fromkeys(_SERVE, "serve"),
    **{"apache_beam": "beam", "jieba": "jieba", "uvicorn": "demo"},
    **{"rapidfuzz": "catalogs", "sklearn": "projection"},
}


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


class _Finder:
    """Registers classes with Keras, and names the extra of what is missing."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in _EXTRAS:
            return None
        others = sys.meta_path[sys.meta_path.index(cls) + 1 :]
        specs = (x.find_spec(name, path, target) for x in others)
        spec = next(filter(None, specs), None)
        if spec is None and _is_imported_here():
            from tfcopy.terminal import how_to_install  # late: seldom needed

            how = how_to_install(_EXTRAS[name])
            raise ModuleNotFoundError(
                f"{name} is not installed: {how}", name=name
            )
        # A folder of this name has no loader.
        if name == "keras" and spec is not None and spec.loader:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda x: (execute(x), _register(x))
        return spec


def _is_imported_here():
    """Returns whether the running import is a statement of this package."""
    frame = sys._getframe(2)
    while frame.f_globals["__name__"] == "importlib._bootstrap":
        frame = frame.f_back
    spec = frame.f_globals.get("__spec__")
    return spec is not None and spec.name.startswith("tfcopy.")


sys.meta_path.insert(0, _Finder)
if sys.modules.get("keras"):
    _register(sys.modules["keras"])
