"""Arrays of published checkpoints: safetensors, or TensorFlow's HDF5.

Nothing of a file is run, and nothing in it is believed: names, types, shapes
and lengths are checked before an array is read.
"""

import json
import math
import os

import numpy as np

# Bytes of a header; the largest known have some hundred kB.
_LARGEST_HEADER = 1 << 25
_DTYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_FILES = "model.safetensors", "model.safetensors.index.json", "tf_model.h5"


class CheckpointArrays:
    """The arrays of a checkpoint, each of which must be used.

    Args:
        folder: Folder with weights in safetensors, in one file or in
            parts with an index, or in the HDF5 of TensorFlow.

    Raises:
        ValueError: In one line that names the file, if it cannot be read.
    """

    def __init__(self, folder):
        paths = [os.path.join(folder, name) for name in _FILES]
        there = [path for path in paths if os.path.isfile(path)]
        if not there:
            reason = f"there is none of {', '.join(_FILES)}"
            if os.path.isfile(os.path.join(folder, "pytorch_model.bin")):
                reason = (
                    "pytorch_model.bin may run code when it is read. Load it "
                    "by transformers and call save_pretrained, which writes "
                    "model.safetensors"
                )
            raise ValueError(f"{folder}: no weights: {reason}.")
        self.path = there[0]
        read = _read_hdf5 if self.path == paths[2] else _read_safetensors
        self._arrays = {}
        for path in _list_parts(folder, self.path):
            try:
                self._arrays.update(read(path))
            except (KeyError, OSError, TypeError, ValueError) as error:
                raise ValueError(f"{path}: not readable ({error}).") from error

    def __contains__(self, name):
        return name in self._arrays

    @property
    def size(self) -> int:
        """The number of weights in all arrays."""
        return sum(x.size for x in self._arrays.values())

    def take(self, name: str, shape: tuple) -> np.ndarray:
        """Returns an array as float32, and forgets it.

        Raises:
            ValueError: If there is none of this name and shape.
        """
        if name not in self._arrays:
            raise ValueError(f"{self.path}: there is no weight {name!r}.")
        array = self._arrays.pop(name)
        if array.shape != tuple(shape):
            raise ValueError(
                f"{self.path}, {name}: expected the shape {tuple(shape)} by "
                f"config.json. Received: {array.shape}."
            )
        if array.dtype == np.uint16:  # bfloat16: the upper half of a float32
            return (array.astype(np.uint32) << 16).view(np.float32)
        return array.astype(np.float32)

    def check_all_used(self):
        """Raises a ValueError if there are arrays that nobody took."""
        if self._arrays:
            names = ", ".join(sorted(self._arrays)[:3])
            raise ValueError(
                f"{self.path}: {len(self._arrays)} weights are of no use to "
                f"this architecture, such as {names}."
            )


def _list_parts(folder, path):
    """Returns the files of a checkpoint, from its index if there is one."""
    if not path.endswith(".json"):
        return [path]
    with open(path, encoding="utf-8") as file:
        names = sorted({*json.load(file)["weight_map"].values()})
    for name in names:
        if os.path.basename(name) != name:
            raise ValueError(f"{path}: {name!r} is no name of a file.")
    return [os.path.join(folder, name) for name in names]


def _read_safetensors(path):
    """Returns arrays by name, which refer to the file."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= min(size - 8, _LARGEST_HEADER):
            raise ValueError(f"a header of {length} bytes")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    found, first = {}, 8 + length
    for name, facts in header.items():
        if facts["dtype"] not in _DTYPES:
            raise ValueError(f"{name} has the type {facts['dtype']}")
        dtype, shape = np.dtype(_DTYPES[facts["dtype"]]), facts["shape"]
        begin, end = facts["data_offsets"]
        if not all(isinstance(x, int) and x >= 0 for x in (*shape, begin, end)):
            raise ValueError(f"{name} has the shape {shape}")
        if end - begin != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{name} has {end - begin} bytes for {shape}")
        if first + end > size:
            raise ValueError(f"{name} ends behind the file's end")
        found[name] = (
            np.memmap(path, dtype, "r", first + begin, tuple(shape))
            if end > begin
            else np.zeros(shape, dtype)
        )
    return found


def _read_hdf5(path):
    """Returns arrays by the names that they have in safetensors."""
    import h5py  # late: most checkpoints need none

    found = {}

    def add(place, item):
        if not isinstance(item, h5py.Dataset):
            return
        *parts, kind = place.removesuffix(":0").split("/")
        array = np.asarray(item)
        if "final_logits_bias" in (*parts, kind):
            found["final_logits_bias"] = array.reshape(1, -1)
            return
        sides = [i for i, x in enumerate(parts) if x in ("encoder", "decoder")]
        inner = (
            parts[sides[-1] :]
            if sides
            else [x.split(".")[-1] for x in parts[-1:]]
        )
        name = {"kernel": "weight", "gamma": "weight", "beta": "bias"}
        name |= {"embeddings": "weight"}
        array = array.T if kind == "kernel" else array
        found[".".join(["model", *inner, name.get(kind, kind)])] = array

    with h5py.File(path, "r") as file:
        file.visititems(add)
    return found
