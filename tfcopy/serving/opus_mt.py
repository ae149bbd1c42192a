"""Checkpoints of OPUS-MT in Marian's own format, made those of Hugging Face.

A checkpoint is a folder or a ZIP archive, with "decoder.yml", Marian's arrays
in an ".npz", vocabularies in YAML, and models of SentencePiece. The fields that
are looked at, the values that they may have, and the names of the arrays are in
opus_mt.json. Nothing of a file is run, and the claims of an archive are checked
before it is unpacked.
"""

import json
import os
import pathlib
import re
import shutil
import stat
import zipfile

import numpy as np
import yaml

from tfcopy import checked_files, file_formats
from tfcopy.checked_files import damage_of

FORMAT = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
# Bytes: of all files of an archive, for each byte of it; of texts.
_LARGEST, _RATIO = 1 << 33, 100
_LARGEST_SETTINGS, _LARGEST_VOCABULARY = 1 << 16, 1 << 26
# A file, or one in a folder.
_PLACE = re.compile(r"(?!\.\.?/)([^/\\]+/)?[^/\\]*")
_ENTRY = re.compile(r"^(?:\? (.*)\n|(.*)): +([0-9]{1,9})\r?$", re.MULTILINE)
_WRONG = "cannot be read"
# Files that both formats have.
_KEPT = "*.spm", "README.md", "LICENSE"


def convert(model, folder) -> str | os.PathLike:
    """Makes a checkpoint of OPUS-MT one in the format of Hugging Face.

    Its arrays become "model.npz", which `published_network` reads. The rows of
    the padding, which Marian does without, are zeros.

    Args:
        model: A folder or a ZIP archive.
        folder: A folder, which gets one of the name of `model`.

    Returns:
        The folder of the checkpoint; `model` if it is a folder without
        "decoder.yml".

    Raises:
        OSError: If a file is missing, or cannot be written.
        ValueError: In one line that names the file and the field.
    """
    root = pathlib.Path(folder, os.path.basename(os.path.abspath(model)))
    place = pathlib.Path(model)
    if os.path.isfile(model):
        _check_members(model)
        with damage_of(model, _WRONG), zipfile.ZipFile(model) as archive:
            archive.extractall(root)
        root = min(root.glob("*/decoder.yml"), default=root / "x").parent
        place = root
    elif os.path.isfile(place / "decoder.yml"):
        root.mkdir(parents=True)
        for path in filter(pathlib.Path.is_file, place.iterdir()):
            if any(map(path.match, _KEPT)):
                shutil.copy(path, root)
    else:
        return model
    path = place / "decoder.yml"
    fields = _read_fields(path, path.read_bytes(), path.name)
    names, path = fields["vocabs"].split(), place / fields["models"]
    vocabularies = [_read_vocabulary(place / x) for x in names]
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    _check_members(path)
    try:
        arrays = checked_files.read_arrays(path)
    except MemoryError as error:  # of a shape that is not true
        raise ValueError(f"{path}: {error}.") from error
    data = arrays.pop("special:model.yml", np.zeros(0)).tobytes()
    fields |= _read_fields(path, data.rstrip(b"\0"), "special:model.yml")
    is_shared, pad = "Wemb" in arrays, vocabularies[0]["<pad>"]
    if is_shared and vocabularies[0] != vocabularies[1]:
        raise ValueError(f"{place / names[1]}: not the same as {names[0]}.")
    is_first = fields["transformer-preprocess"] == "n"
    with damage_of(path, _WRONG):
        arrays = dict(_iter_renamed(arrays, "_pre" * is_first))
    checked_files.write_arrays(root / "model.npz", arrays)
    config = {
        **FORMAT["config"],
        **{x: yaml.safe_load(fields[y]) for x, y in FORMAT["fields"].items()},
        **{"vocab_size": pad + 1, "pad_token_id": pad},
        **{"decoder_start_token_id": pad, "normalize_first": is_first},
        "share_encoder_decoder_embeddings": is_shared,
    }
    contents = config, config, *vocabularies
    for name, content in zip(FORMAT["files"], contents):
        (root / name).write_text(json.dumps(content))
    return root


def _check_members(path):
    """Raises a ValueError if a ZIP archive is not to be unpacked."""
    names, most = set(), min(_LARGEST, _RATIO * os.path.getsize(path))
    with damage_of(path, _WRONG), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name, most = member.filename, most - member.file_size
            is_link = stat.S_ISLNK(member.external_attr >> 16)
            if is_link or name in names or not _PLACE.fullmatch(name):
                raise ValueError(
                    f"{name!r} is a link, twice or not in one folder"
                )
            if most < 0:
                raise ValueError(f"{name!r} has {member.file_size:,} bytes")
            names.add(name)


def _read_fields(path, data, kind):
    """Returns the known fields of YAML, as texts that match their patterns."""
    with damage_of(path, _WRONG):
        if len(data) > _LARGEST_SETTINGS:
            raise ValueError(f"{kind} has {len(data):,} bytes")
        fields, found = yaml.load(data, yaml.BaseLoader), {}
        for name, pattern in FORMAT[kind].items():
            value = [fields.get(x, "") for x in name.split()]
            value = " ".join(value[0] if isinstance(value[0], list) else value)
            if not re.fullmatch(pattern, value):
                raise ValueError(f"{name}: {value!r:.80} is not {pattern}")
            found[name] = value
        return found


def _iter_renamed(arrays, suffix):
    """Yields arrays as transformers names and turns them, with the padding."""
    pattern = rf"(encoder|decoder)_l([1-9][0-9]*)_(.*?)(?:{suffix})?"
    for name, array in arrays.items():
        array = array.astype("float32", casting="equiv")
        if "Wemb" in name or "logit" in name:
            more = (0, 1), (0, 0)
            array = np.pad(array, more if "Wemb" in name else more[::-1])
        else:
            array = array.squeeze().T
        if layer := re.fullmatch(pattern, name):
            name = FORMAT["layers"].get(layer[3], layer[3])
            name = f"model.{layer[1]}.layers.{int(layer[2]) - 1}.{name}"
        yield FORMAT["arrays"].get(name, name), array


def _read_vocabulary(path):
    """Returns the ids of tokens, of lines `token: id`, and of the padding."""
    with damage_of(path, _WRONG):
        text = file_formats.read_regular(path, _LARGEST_VOCABULARY).decode()
        ids = {_unquote(x or y): int(n) for x, y, n in _ENTRY.findall(text)}
        rest = _ENTRY.sub("", text).strip()
        if rest or sorted(ids.values()) != [*range(len(ids))]:
            raise ValueError(f"not `token: id` with each id once {rest!r:.80}")
        return {**ids, "<pad>": len(ids)}


def _unquote(text):
    """Returns the text of a scalar of YAML."""
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    code = re.sub(r"\\(.)", lambda x: r"\u00" if x[1] == "x" else x[0], text)
    return json.loads(code, strict=False) if text[0] == '"' else text
