"""Checkpoints of OPUS-MT in Marian's own format, made those of Hugging Face.

A checkpoint is a folder or a ZIP archive, with `decoder.yml`, Marian's arrays
in an `.npz`, vocabularies in YAML, and models of SentencePiece. The fields that
are looked at, the values that they may have, and the names of the arrays are in
opus_mt.json. Nothing of a file is run, and the claims of an archive are checked
before it is unpacked.
"""

import functools
import json
import os
import pathlib
import re
import stat
import zipfile

import numpy as np
import yaml

from tfcopy import checked_files, file_formats

_FORMAT = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
# Bytes: of all files of an archive, for each byte of it, of a text.
_LARGEST, _RATIO, _LARGEST_TEXT = 1 << 33, 100, 1 << 26
# A file, or one in a folder.
_PLACE = re.compile(r"(?!\.\.?/)([^/\\]+/)?[^/\\]*")
_LAYER = re.compile(r"((encoder|decoder)_l([1-9][0-9]*)_)?")
_ENTRY = re.compile(r"^(?:\? (.*)\n|(.*)): +([0-9]{1,9})\r?$", re.MULTILINE)
_LANGUAGE = re.compile(r"\* (source|target) language\(s\): *([\w-]+)\s*\n")
_NORMS = "transformer-preprocess transformer-postprocess"
_NORMS += " transformer-postprocess-top"
_errors_of = functools.partial(checked_files.damage_of, state="cannot be read")


def is_opus_mt(model) -> bool:
    """Returns whether a path is a file, or a folder of Marian's own files."""
    root = pathlib.Path(model)
    is_other = (root / "config.json").exists()
    return root.is_file() or (root / "decoder.yml").exists() and not is_other


def convert(model, folder) -> str:
    """Writes a checkpoint of OPUS-MT in the format of Hugging Face.

    Its arrays become "model.npz", which `published_network` reads. The rows of
    the padding, which Marian does without, are zeros.

    Args:
        model: Folder or ZIP archive.
        folder: A folder, which gets two: "files" of the archive, and
            "checkpoint".

    Returns:
        The folder of the checkpoint.

    Raises:
        OSError: If a file cannot be written.
        ValueError: In one line that names the file and the field.
    """
    root, target = pathlib.Path(model), pathlib.Path(folder, "checkpoint")
    target.mkdir()
    if root.is_file():
        _check_members(root)
        with _errors_of(model), zipfile.ZipFile(root) as archive:
            archive.extractall(root := pathlib.Path(folder, "files"))
        root = min(root.glob("*/decoder.yml"), default=root / "x").parent
    path = root / "decoder.yml"
    decoder = _read_fields(path, _read(path), "decoder.yml")
    names = decoder["vocabs"].split()
    vocabularies = [_read_vocabulary(root / x) for x in names]
    pad = vocabularies[0]["<pad>"]
    arrays, config = _read_network(root / decoder["models"])
    if "model.shared.weight" not in arrays:
        config["share_encoder_decoder_embeddings"] = False
    elif vocabularies[0] != vocabularies[1]:
        raise ValueError(f"{root / names[1]}: not the same as {names[0]}.")
    config |= {
        "num_beams": int(decoder["beam-size"]),
        "length_penalty": float(decoder["normalize"]),
        **{"vocab_size": pad + 1, "pad_token_id": pad},
        **{"decoder_start_token_id": pad},
    }
    texts = {"tokenizer_config": _read_languages(root), "config": config}
    texts |= zip(("vocab", "target_vocab"), vocabularies)
    for name, content in texts.items():
        checked_files.write_json(target / f"{name}.json", content)
    checked_files.write_arrays(target / "model.npz", arrays)
    for name in ("source.spm", "target.spm"):
        (target / name).write_bytes(_read(root / name))
    return str(target)


def _check_members(path):
    """Raises a ValueError if a ZIP archive is not to be unpacked."""
    most = min(_LARGEST, _RATIO * os.path.getsize(path))
    with _errors_of(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        for member in archive.infolist():
            name, most = member.filename, most - member.file_size
            for is_wrong, reason in (
                (stat.S_ISLNK(member.external_attr >> 16), "a link"),
                (not _PLACE.fullmatch(name), "not in one folder"),
                (names.count(name) > 1, "there twice"),
                (most < 0, f"of {member.file_size:,} bytes"),
            ):
                if is_wrong:
                    raise ValueError(f"{name!r} is {reason}")


def _read(path):
    if not path.is_file():
        hint = " Models of BPE are not read." * path.match("*.spm")
        raise ValueError(f"{path}: there is no such file.{hint}")
    return file_formats.read_regular(path, _LARGEST_TEXT)


def _read_fields(path, data, kind):
    """Returns the fields of YAML that opus_mt.json has, as texts."""
    with _errors_of(path):
        fields, found = yaml.load(data, yaml.BaseLoader), {}
        for names, pattern in _FORMAT[kind].items():
            values = [fields.get(x, "") for x in names.split()]
            values = values[0] if isinstance(values[0], list) else values
            found[names] = " ".join(values)
            if not re.fullmatch(pattern, found[names]):
                reason = f"must match {pattern!r}, and is {found[names]!r:.80}"
                raise ValueError(f"{names} {reason}")
    return found


def _read_network(path):
    """Returns arrays by the names of transformers, and their config."""
    _check_members(path)
    arrays, renamed = checked_files.read_arrays(path), {}
    text = arrays.pop("special:model.yml", np.zeros(0)).tobytes()
    fields = _read_fields(path, text.rstrip(b"\0"), "special:model.yml")
    is_first = fields[_NORMS].startswith("n")
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            raise ValueError(f"{path}, {name}: the type {array.dtype}.")
        layer, side, number = _LAYER.match(name).groups("")
        short = name[len(layer) :].removesuffix("_pre" * is_first)
        array = array.squeeze() if "Wemb" in name else array.squeeze().T
        if "Wemb" in name or "logit" in name:  # and the padding
            array = np.insert(array, len(array), 0, axis=0)
        place = layer and f"model.{side}.layers.{int(number) - 1}."
        place += _FORMAT["arrays"].get(short, name)
        renamed[place] = array[None] if place == "final_logits_bias" else array
    config = {x: int(fields[y]) for x, y in _FORMAT["sizes"].items()}
    config |= _FORMAT["config"] | {
        "activation_function": fields["transformer-ffn-activation"],
        "tie_word_embeddings": "lm_head.weight" not in renamed,
        "normalize_first": is_first,
    }
    return renamed, config


def _read_vocabulary(path):
    """Returns the ids of tokens, of lines `token: id`, and of the padding."""
    text = _read(path)
    with _errors_of(path):
        text = text.decode()
        entries = _ENTRY.findall(text)
        ids = {_unquote(x or y): int(number) for x, y, number in entries}
        if rest := _ENTRY.sub("", text).strip():
            raise ValueError(f"no line of a token and its id: {rest!r:.80}")
        if sorted(ids.values()) != [*range(len(entries))]:
            raise ValueError("a token or an id is missing or there twice")
        return {**ids, "<pad>": len(ids)}


def _unquote(text):
    """Returns the text of a scalar of YAML."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if not text.startswith('"'):
        return text
    text = re.sub(r"\\(.)", lambda x: r"\u00" if x[1] == "x" else x[0], text)
    return json.loads(text, strict=False)


def _read_languages(root):
    """Returns the languages that README.md names, if it is one of a side."""
    path = root / "README.md"
    text = _read(path).decode(errors="replace") if path.is_file() else ""
    return {f"{side}_lang": code for side, code in _LANGUAGE.findall(text)}
