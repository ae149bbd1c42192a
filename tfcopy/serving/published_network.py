"""Networks of checkpoints in Hugging Face's format: Marian and M2M-100.

A checkpoint is a folder with `config.json` and weights, in safetensors or in
TensorFlow's HDF5. Whatever its config or its weights have that is not
understood is an error. Nothing of a file is run, and nothing in it is believed:
names, types, shapes and lengths are checked before an array is read.
"""

import os
from typing import NamedTuple

import numpy as np

from tfcopy import checked_files

_ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
_SIZES = (
    *("d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim"),
    *("decoder_ffn_dim", "encoder_attention_heads", "decoder_attention_heads"),
    *("max_position_embeddings", "vocab_size"),
)
_IDS = "pad_token_id", "eos_token_id", "decoder_start_token_id"
_FIELDS = {
    **{"activation_function": str, "scale_embedding": bool},
    **dict.fromkeys((*_SIZES, *_IDS), int),
}
_OPTIONAL = {
    **{"decoder_vocab_size": int, "dropout": float},
    "share_encoder_decoder_embeddings": bool,
    **{"tie_word_embeddings": bool, "normalize_first": bool},
}
# The least and the most; a text has a token and an end.
_RANGES = {
    **dict.fromkeys(_SIZES, (1, 1 << 24)),
    **{"decoder_vocab_size": (0, 1 << 24), "dropout": (0, 1)},
    "max_position_embeddings": (2, 1 << 16),
}
# Of architectures that other programs have under the same name.
_ABSENT = "normalize_before", "normalize_embedding", "add_final_layer_norm"
_DTYPES = "float64", "float32", "float16", "bfloat16"
_FILES = (
    "model.npz",  # by `opus_mt`
    *("model.safetensors", "model.safetensors.index.json", "tf_model.h5"),
)


class Checkpoint(NamedTuple):
    """The network of a checkpoint.

    Attributes:
        backbone: A `MarianBackbone` or an `M2M100Backbone`.
        logit_bias: float32, by row of the target's table; 0 without one.
        config: Content of `config.json`.
    """

    backbone: object
    logit_bias: np.ndarray
    config: dict


def read_config(folder) -> dict:
    """Reads and checks the `config.json` of a checkpoint.

    Raises:
        ValueError: In one line that names the file and the field.
    """
    path = os.path.join(folder, "config.json")
    config = checked_files.read_json(path)
    checked_files.check_fields(path, config, {"model_type": str})

    def check(name, fits, wanted):
        if not fits:
            raise ValueError(
                f"{path}: {name} must be {wanted}. Received: "
                f"{config.get(name)!r}."
            )

    kind, kinds = config["model_type"], ("marian", "m2m_100")
    check("model_type", kind in kinds, f"one of {', '.join(kinds)}")
    checked_files.check_fields(path, config, _FIELDS, _OPTIONAL)
    for name, (least, most) in _RANGES.items():
        value = least if config.get(name) is None else config[name]
        check(name, least <= value <= most, f"from {least} to {most}")
    for name in _IDS:
        rows = config["vocab_size"]
        check(name, 0 <= config[name] < rows, f"a row of {rows}")
    start, ends = config[_IDS[2]], [config[name] for name in _IDS[:2]]
    check(_IDS[2], start in ends, "the padding or the end")
    activation = config["activation_function"]
    check("activation_function", activation in _ACTIVATIONS, [*_ACTIVATIONS])
    for name in ("attention_heads", "ffn_dim"):
        same = config[f"decoder_{name}"] == config[f"encoder_{name}"]
        check(f"decoder_{name}", same, "the same as in the encoder")
    fits = config["d_model"] % config["encoder_attention_heads"] == 0
    check("d_model", fits, "a multiple of the number of heads")
    for name in _ABSENT if kind == "marian" else ():
        check(name, not config.get(name), "false, as transformers reads it")
    return config


def load(folder, dtype=None) -> Checkpoint:
    """Builds the network of a checkpoint, with its weights.

    Args:
        folder: A local folder.
        dtype: Data type or policy of the layers.

    Raises:
        ValueError: In one line that names the file, if it cannot be read
            whole.
    """
    from tfcopy.layers.backbones import marian_backbone

    config = read_config(folder)
    is_marian = config["model_type"] == "marian"
    is_shared = config.get("share_encoder_decoder_embeddings", True)
    rows = config.get("decoder_vocab_size") or config["vocab_size"]
    arrays = CheckpointArrays(folder)
    units, layers = config["d_model"], config["encoder_layers"]
    layers += config["decoder_layers"]
    least = units * (config["vocab_size"] + layers * 4 * units)
    least += layers * 2 * units * config["encoder_ffn_dim"]
    if least > arrays.size:  # before anything of this size is made
        raise ValueError(
            f"{arrays.path}: expected at least {least:,} weights by "
            f"config.json. Received: {arrays.size:,}."
        )
    dropout = config.get("dropout")
    name = "MarianBackbone" if is_marian else "M2M100Backbone"
    backbone = getattr(marian_backbone, name)(
        vocabulary_size=config["vocab_size"],
        num_layers=config["encoder_layers"],
        num_decoder_layers=config["decoder_layers"],
        num_heads=config["encoder_attention_heads"],
        hidden_dim=config["d_model"],
        intermediate_dim=config["encoder_ffn_dim"],
        decoder_vocabulary_size=None if is_shared else rows,
        tie_weights=config.get("tie_word_embeddings", True),
        activation=_ACTIVATIONS[config["activation_function"]],
        normalize_first=config.get("normalize_first", not is_marian),
        scale_embedding=config["scale_embedding"],
        dropout=0.1 if dropout is None else float(dropout),
        max_sequence_length=config["max_position_embeddings"],
        dtype=dtype,
    )
    _Weights(backbone, arrays).assign()
    for x in backbone.weights:
        if not np.isfinite(x).all():
            raise ValueError(f"{arrays.path}: not all of {x.path} is finite.")
    bias = np.zeros(rows, "float32")
    if is_marian:
        bias = arrays.take("final_logits_bias", (1, rows))[0]
    arrays.check_all_used()
    return Checkpoint(backbone, bias, config)


def point_as_network(model):
    """Has a model point as the last cross-attention of its network reads.

    Its queries are then the decoder's outputs, after that layer, so that its
    weights are near the network's own, not the same.

    Args:
        model: Model of `from_backbone`, which points with heads.
    """
    from tfcopy.keras_internals import own_layers  # late: it takes seconds

    backbone, ours = model.cell.parts.backbone, model.cell.attention
    block = own_layers(backbone.decoder_transformer_layers[-1])
    theirs = own_layers(block.cross_attention_layer)
    for weight, array in (
        (ours.value_projection.kernel, theirs.key_dense.kernel),
        (ours.query_kernel, theirs.query_dense.kernel),
        (ours.query_bias, theirs.query_dense.bias),
    ):
        weight.assign(np.reshape(array, weight.shape))


class _Weights:
    """Moves the weights of a checkpoint into a backbone."""

    def __init__(self, backbone, arrays):
        from tfcopy.keras_internals import own_layers  # late: it takes seconds

        self._backbone, self._arrays = backbone, arrays
        self._own_layers = own_layers

    def assign(self):
        self._assign_tables()
        for side in ("encoder", "decoder"):
            blocks = getattr(self._backbone, f"{side}_transformer_layers")
            for i, block in enumerate(blocks):
                name = f"model.{side}.layers.{i}"
                self._assign_block(self._own_layers(block), name)
            if norm := getattr(self._backbone, f"{side}_layer_norm"):
                self._assign_norm(norm, f"model.{side}.layer_norm")
            positions = getattr(self._backbone, f"{side}_position_embedding")
            name = f"model.{side}.embed_positions.weight"
            self._check_same(name, positions.table, 1e-5)

    def _assign_tables(self):
        source = self._backbone.token_embedding
        target = self._backbone.decoder_token_embedding
        places = {
            f"model.{side}.embed_tokens.weight": table.embeddings
            for side, table in (("encoder", source), ("decoder", target))
        }
        if source is target:
            places = {"model.shared.weight": source.embeddings, **places}
        if target.tie_weights:
            places["lm_head.weight"] = target.embeddings
        # Asked for in any case.
        last_names = {id(variable): name for name, variable in places.items()}
        assigned = set()
        for name, variable in places.items():
            # Copies of a shared table may be stored or not.
            if id(variable) in assigned:
                self._check_same(name, variable)
            elif name in self._arrays or name == last_names[id(variable)]:
                variable.assign(self._arrays.take(name, variable.shape))
                assigned.add(id(variable))
        if not target.tie_weights:
            shape = target.reverse_embeddings.shape[::-1]
            array = self._arrays.take("lm_head.weight", shape)
            target.reverse_embeddings.assign(array.T)

    def _check_same(self, name, variable, tolerance=0.0):
        """Takes an array that must equal a variable, if it is there."""
        if name not in self._arrays:
            return
        array = self._arrays.take(name, variable.shape)
        if not np.allclose(array, variable, rtol=0, atol=tolerance):
            raise ValueError(
                f"{self._arrays.path}, {name}: expected the same as in "
                f"{variable.path}, by config.json. Received: others."
            )

    def _assign_block(self, block, name):
        attentions = {"self_attn": "self_attention_layer"}
        if hasattr(block, "cross_attention_layer"):
            attentions["encoder_attn"] = "cross_attention_layer"
        for theirs, ours in attentions.items():
            attention = self._own_layers(getattr(block, ours))
            for x in ("query", "key", "value", "output"):
                short = "out" if x == "output" else x[0]
                dense = getattr(attention, f"{x}_dense")
                self._assign_dense(dense, f"{name}.{theirs}.{short}_proj")
            norm = getattr(block, f"{ours}_norm")
            self._assign_norm(norm, f"{name}.{theirs}_layer_norm")
        for theirs, ours in (("fc1", "intermediate"), ("fc2", "output")):
            dense = getattr(block, f"feedforward_{ours}_dense")
            self._assign_dense(dense, f"{name}.{theirs}")
        norm = block.feedforward_layer_norm
        self._assign_norm(norm, f"{name}.final_layer_norm")

    def _assign_dense(self, dense, name):
        kernel, bias = dense.kernel, dense.bias
        # Keras's attentions have an axis of heads besides one of their size.
        columns = int(np.prod(bias.shape))
        rows = int(np.prod(kernel.shape)) // columns
        weight = self._arrays.take(f"{name}.weight", (columns, rows))
        kernel.assign(weight.T.reshape(kernel.shape))
        array = self._arrays.take(f"{name}.bias", (columns,))
        bias.assign(array.reshape(bias.shape))

    def _assign_norm(self, norm, name):
        for ours, theirs in ((norm.gamma, "weight"), (norm.beta, "bias")):
            ours.assign(self._arrays.take(f"{name}.{theirs}", ours.shape))


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
            reason = f"there is none of {', '.join(_FILES[1:])}"
            if os.path.isfile(os.path.join(folder, "pytorch_model.bin")):
                reason = (
                    "pytorch_model.bin may run code when it is read. Load it "
                    "by transformers and call save_pretrained, which writes "
                    "model.safetensors"
                )
            raise ValueError(f"{folder}: no weights: {reason}.")
        self.path = there[0]
        readers = {"h5": _read_hdf5, "npz": checked_files.read_arrays}
        read = readers.get(self.path.split(".")[-1], _read_safetensors)
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
        if array.dtype.name not in _DTYPES:
            raise ValueError(f"{self.path}, {name}: the type {array.dtype}.")
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
    index = checked_files.read_json(path)
    checked_files.check_fields(path, index, {"weight_map": {...: str}})
    names = sorted({*index["weight_map"].values()})
    parts = [os.path.join(folder, name) for name in names]
    for name, part in zip(names, parts):
        if os.path.basename(name) != name or not os.path.isfile(part):
            raise ValueError(f"{path}: {name!r} is no name of a file.")
    return parts


def _read_safetensors(path):
    """Returns arrays by name."""
    import ml_dtypes  # noqa: F401  NumPy then has bfloat16.
    import safetensors

    try:
        with safetensors.safe_open(path, "np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}
    except safetensors.SafetensorError as error:
        raise ValueError(error) from error


def _read_hdf5(path):
    """Returns arrays by the names that they have in safetensors."""
    import h5py  # late: most checkpoints need none

    found, size = {}, os.path.getsize(path)

    def add(place, item):
        if not isinstance(item, h5py.Dataset):
            return
        elsewhere = item.shape is None or item.is_virtual or item.external
        if elsewhere or item.dtype.kind != "f" or item.nbytes > size:
            raise ValueError(f"{place} is no array of numbers in this file")
        *parts, kind = place.removesuffix(":0").split("/")
        array = np.asarray(item)
        if "final_logits_bias" in (*parts, kind):
            found["final_logits_bias"] = array.reshape(1, -1)
            return
        sides = [i for i, x in enumerate(parts) if x in ("encoder", "decoder")]
        inner = [x.split(".")[-1] for x in parts[-1:]]
        inner = parts[sides[-1] :] if sides else inner
        name = {"kernel": "weight", "gamma": "weight", "beta": "bias"}
        name |= {"embeddings": "weight"}
        array = array.T if kind == "kernel" else array
        found[".".join(["model", *inner, name.get(kind, kind)])] = array

    try:
        with h5py.File(path, "r") as file:
            file.visititems(add)
    except RuntimeError as error:  # of a damaged file
        raise ValueError(error) from error
    return found
