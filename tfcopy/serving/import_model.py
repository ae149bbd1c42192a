"""The command `import`: a published translator to a SavedModel."""

import dataclasses
import os
import pathlib
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Literal

from tfcopy import atomic_files, terminal
from tfcopy.data.corpora.text_pairs import iter_lines
from tfcopy.data.text.span_patterns import CHOICES, check_flag
from tfcopy.flags import File, Folder, Parser, PositiveInt, flag
from tfcopy.runtime.litert_engine import LITERT_PRECISIONS
from tfcopy.runtime.versions import read_config
from tfcopy.serving import published_translator
from tfcopy.serving.export import Setting, split_settings

_DESCRIPTION = """\
Exports a published translator, such as OPUS-MT's, as a SavedModel whose answers
keep every protected span of a text to the letter. Nothing is trained.

MODEL is a folder in the format of Hugging Face, of Marian, M2M-100, SMaLL-100
or NLLB-200, with config.json, model.safetensors or tf_model.h5, and the files
of its tokenizer; or the name of one at Hugging Face, OWNER/NAME, which is
downloaded and kept in its cache; or a folder or ZIP archive of OPUS-MT, with
decoder.yml and Marian's .npz. One import is one pair of languages."""

_EXAMPLES = """\
examples:
  %(prog)s Helsinki-NLP/opus-mt-en-fr --to savedmodels/en_fr
  %(prog)s opus-mt-en-roa --to savedmodels/en_es --target_language spa
  %(prog)s opus-2020-02-26.zip --to savedmodels/en_fr --set num_beams=1
  %(prog)s facebook/nllb-200-distilled-600M --to savedmodels/en_fr \\
    --source_language eng_Latn --target_language fra_Latn

Try it: tfcopy ask FOLDER, or tfcopy translate_po FOLDER my.po"""
PROTECT = ("links", "html", "placeholders")
_FILES = ["*.json", "*.spm", "*.model", "*.safetensors", "tf_model.h5"]
_FILES += ["README.md"]
# First bytes of what stands for a large file that Git has not fetched.
_POINTER = b"version https://git-lfs."
# Answered by each precision, if there are no texts of a test set.
_TEXTS = ("Hello, world!", "3 × 4 = 12", "%s: <b>{name}</b> (%d %%)", "OK")


@dataclasses.dataclass(kw_only=True)
class Options:
    """Flags of `import`: checkpoint, spans, search.

    Attributes:
        model: folder or archive of a checkpoint, or its name at Hugging Face
        to: folder of versions
        revision: branch, tag or commit at Hugging Face
        source_language: language code of texts; of a checkpoint with several,
            one of its own
        target_language: language code of answers; of a checkpoint with several,
            one of its own
        litert: precision of the programs that answer without TensorFlow, or
            none
        test: two files of lines, texts and references, on which int8 may cost
            0.3 BLEU or chrF, and no span; without them it is not measured
        version: version number (default: one more than the highest)
    """

    command, positional = "import", {"model": "MODEL"}

    model: str
    to: Folder
    revision: str | None = None
    source_language: str | None = None
    target_language: str | None = None
    protect: list[str] = flag(
        list(PROTECT),
        f"formats of spans that answers must keep: {CHOICES}; none if empty",
    )
    set: list[Setting] = flag(
        [], "search options that replace the checkpoint's", action="extend"
    )
    litert: Literal[*LITERT_PRECISIONS, "none"] = "int8"
    test: list[File] | None = None
    version: PositiveInt | None = None

    def __post_init__(self):
        check_flag(self.protect)
        if self.test is not None and len(self.test) != 2:
            raise ValueError("--test takes two files")


def main(arguments=None):
    """Returns the exit status."""
    options = Parser(Options, _DESCRIPTION, _EXAMPLES).parse(arguments)
    return terminal.run("import", lambda: _import(options))


def _import(options):
    sides = [[*iter_lines(path)] for path in options.test or ()]
    if len({*map(len, sides)}) > 1:
        raise ValueError("--test: the files have different numbers of lines.")
    arguments = {**vars(options), "pairs": [*zip(*sides)]}
    del arguments["test"]
    atomic_files.check_writable(options.to)
    settings = split_settings(arguments.pop("set"))
    path = import_model(settings=settings, **arguments)
    print(f"{options.model}: {path}")
    print(f"Engines: {read_config(path)['engines']}")
    print(f"Ask it: tfcopy ask {shlex.quote(os.path.dirname(path))}")


def import_model(
    model,
    to,
    *,
    revision: str | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    protect: Sequence[str] = PROTECT,
    settings: Mapping | None = None,
    litert: str = "int8",
    pairs: Sequence[tuple[str, str]] = (),
    version: int | None = None,
) -> str:
    """Exports a published translator, all of it or nothing.

    Args:
        model: Folder of a checkpoint of Marian, M2M-100, SMaLL-100 or NLLB-200
            in Hugging Face's format, or its name at Hugging Face, or a folder
            or ZIP archive of OPUS-MT.
        to: Folder of the versions.
        revision: Branch, tag or commit at Hugging Face.
        source_language: Language code; of a checkpoint with several source
            languages, one of its own, such as `"en"` or `"eng_Latn"`.
        target_language: The same; of Marian, the code between `>>` and `<<`.
        protect: Formats of spans that answers must keep, names of `PATTERNS` or
            regular expressions of RE2; if empty, answers are as free as those
            of `transformers`.
        settings: Options of the search, as in `tfcopy export --set`.
        litert: Precision of programs of LiteRT, or `"none"`.
        pairs: Texts and references that decide on the precision.
        version: Positive integer; by default the highest version plus one.

    Returns:
        The folder that was written.

    Raises:
        OSError: If a file cannot be read or written.
        ValueError: In one line that names the file and the field.
    """
    from tfcopy.serving import opus_mt

    folder, origin = find_checkpoint(os.fspath(model), revision)
    languages = source_language, target_language
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as files:
        folder = opus_mt.convert(folder, files)
        _check_files(folder)
        make = published_translator.read(folder, *languages, protect)
        # Late, so that what is wrong up to here is reported at once.
        from tfcopy.serving import saved_model
        from tfcopy.serving.servables import settings as known

        facts = {"kind": "Translator", "arguments": {}, "model": {"config": {}}}
        values = known.parse(facts, settings or {})
        translator = make(files, litert)
        arguments = known.change_arguments(translator.arguments, values)
        details = published_translator.read_facts(folder, *languages)
        licence = details.pop("license", None)
        parameters = translator.model.count_params()
        details |= {"imported": origin, "parameters": parameters}
        details["flags"] = {"license": licence} if licence else {}
        return saved_model.export(
            translator.copy(**arguments),
            to,
            version=version,
            warmup_texts=[*dict(pairs[:4])] or _TEXTS,
            details=details,
            pairs=pairs,
        )


def _check_files(folder):
    """Raises a ValueError that names a file of a checkpoint without content."""
    for path in pathlib.Path(folder).iterdir():
        if any(map(path.match, _FILES)):
            with open(path if path.is_file() else os.devnull, "rb") as file:
                head = file.read(len(_POINTER))
            if head in (b"", _POINTER):
                reason = "a pointer of Git LFS" if head else "no file, or empty"
                raise ValueError(f"{path}: {reason}. Fetch it again.")


def find_checkpoint(model: str, revision: str | None = None):
    """Returns the folder of a checkpoint, and facts about its origin.

    Raises:
        ValueError: If there is none of this name, or it cannot be downloaded.
    """
    if os.path.exists(model):
        if revision is not None:
            raise ValueError(f"--revision: {model} is a path. Leave it out.")
        return model, {"model": os.path.basename(os.path.abspath(model))}
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model) or model.startswith("."):
        raise ValueError(
            f"{model}: no such folder, nor OWNER/NAME of a checkpoint."
        )
    import huggingface_hub  # late: folders need none

    try:
        folder = huggingface_hub.snapshot_download(
            model, revision=revision, allow_patterns=_FILES
        )
    except Exception as error:  # Of the hub, of its transport, of the disk.
        raise ValueError(
            f"{model}: no such folder, and Hugging Face does not send it "
            f"({terminal.one_line(error)[:200]})."
        ) from error
    return folder, {"model": model, "revision": os.path.basename(folder)}


if __name__ == "__main__":
    sys.exit(main())
