"""Translates the open entries of gettext catalogues, or XLIFF's, in place.

XLIFF may be 1.2 or 2; its units are entries, too. Each becomes fuzzy, with
translator's comments (in XLIFF a state and notes) about the score (a
log-probability; the lowest of several lines or forms) and, if the export has
it, the probability that no edit is needed; lost and added spans of markup,
unpaired tags, brackets and quotes, and letters beside placeholders:

  # tfcopy: score -3.21
  # tfcopy: lost :func:`open`
  # tfcopy: + %s
  # tfcopy: </b> before <b>
  #, fuzzy

If placeholders without numbers change their order, they get numbers, or the
entry is left open. An accelerator, _File or &File, is put on a letter that no
other item of its menu has; a menu is a context, or a source file.

A text that is translated elsewhere in the same file, or in a --memory, takes
that translation, and is not fuzzy:

  # tfcopy: from library.po

Translated, fuzzy and obsolete entries, and those for translators' names, are
not touched, and no other line of a file is changed. An entry that cannot be
filled is left as it is, with a comment that says why.

MODEL is what a recipe exports, or ADDRESS/MODEL on a server, such as
http://localhost:8501/pydocs_ps.
"""

import contextlib
import dataclasses
import itertools
import os
from typing import Annotated

from tfcopy import atomic_files, filesystem, terminal
from tfcopy.data.corpora import gettext_catalogs
from tfcopy.data.text.exchange_formats import is_memory
from tfcopy.data.text.span_patterns import CHOICES, check_flag
from tfcopy.flags import Check, File, Parser, PositiveInt, flag, name_flag
from tfcopy.runtime.loading import ModelOptions
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.versions import find_version, read_config
from tfcopy.serving.catalogs import report
from tfcopy.serving.catalogs.catalog_file import CatalogFile
from tfcopy.serving.catalogs.catalog_filling import CatalogModel, fill_all
from tfcopy.serving.catalogs.memory import Memory
from tfcopy.terminal import printable

Percent = Annotated[
    float, Check("a number from 1 to 100", lambda x: 1 <= x <= 100)
]
_EXAMPLES = """\
examples:
  %(prog)s savedmodels/pydocs_ps locale/es/*.po
  %(prog)s savedmodels/pydocs_ps locale
  %(prog)s savedmodels/pydocs_ps manual.po --output filled.po
  %(prog)s savedmodels/pydocs_ps manual.po --memory old/*.po --fuzzy 85
  %(prog)s savedmodels/pydocs_ps manual.po --report report.html
  %(prog)s http://localhost:8501/pydocs_ps manual.po --language es

Repeat a command that was killed: it continues from what it has written. The
exit status is 0, possibly 1 with --strict, or 2 after an error, which is one
line on standard error."""


@dataclasses.dataclass(kw_only=True)
class Options(ModelOptions):
    """Flags of `translate_po`: model, catalogues, checks.

    Attributes:
        files: catalogue (.po), XLIFF (.xlf, .xliff), or folder of catalogues,
            of which those in the language are filled
        output: file to write instead; a folder for several FILEs, or if it
            ends with /
        language: language that the headers must name, if they name one
            (default: the export's)
        glossary: file of translations that answers must contain, one per line,
            phrase<TAB>translation
        max_words: tokens of a text that the model reads; entries with longer
            texts stay as they are (default: the export's, or 200)
        batch_size: texts in a batch
        memory: files of existing translations, .po, .mo, TMX or XLIFF, or
            folders of catalogues, such as /usr/share/locale; an entry with the
            same text takes its translation from there, not from the model
        fuzzy: add to the model's translation a comment with the most similar
            text of --memory, if this percentage of its letters, such as 85, is
            the same
        min_score: leave entries whose translation has a lower score, such as
            -5, as they are, without a comment; a number from 0 to 1 is compared
            with the probability that it needs no edit, if the export has it
        report: file to write, .html or .tsv, with the translation of each
            entry, the most urgent ones on top
        strict: exit status 1 if an entry stays as it is, has lost something,
            or has other remarks
    """

    positional = {"model": "MODEL", "files": "FILE"}

    files: list[str]
    output: File | None = None
    language: str | None = None
    protect: list[str] | None = flag(
        None,
        f"formats of spans that a translation must keep: {CHOICES} (default: "
        "the export's, links, html and placeholders); a flag such "
        "as python-format adds its own",
    )
    model_protect: list[str] | None = flag(
        None,
        "formats that the model was trained to copy as a whole, its --protect; "
        "other spans are replaced by such ones (default: the export's; a "
        "server does not send them)",
    )
    glossary: File | None = None
    max_words: PositiveInt | None = None
    batch_size: PositiveInt = 32
    memory: list[File] | None = None
    fuzzy: Percent | None = None
    min_score: float | None = None
    report: File | None = None
    strict: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.fuzzy is not None and self.memory is None:
            raise ValueError("--fuzzy needs a --memory")


def main(arguments=None):
    """Runs the command, and returns its exit status."""
    parser = Parser(Options, __doc__, _EXAMPLES)
    options = parser.parse(arguments, intermixed=True)
    done = []
    status = terminal.run(
        "translate_po", lambda: _translate(options, done.append)
    )
    if options.report is not None and done:
        rows = [row for x in done for row in x.rows]
        made = options.report, rows, done[0].quality
        status = status or terminal.run(
            "translate_po", lambda: report.write(*made)
        )
    is_flawless = all(x.is_flawless for x in done)
    return status or int(options.strict and not is_flawless)


def _translate(options, tell):
    check_flag(options.protect or ())
    check_flag(options.model_protect or (), "model_protect")
    if options.fuzzy:  # If it is missing, nothing is filled.
        import rapidfuzz  # noqa: F401
    language = options.language
    if any(map(filesystem.isdir, options.files)):
        language = language or _language(options)
    names = _catalogs(options.files, language)
    outputs = _outputs(names, options.output)
    files = {"--report": options.report}
    atomic_files.check_files(
        files, {"FILE": names, "--memory": options.memory or ()}
    )
    if options.output is not None:
        for _, path in outputs:
            atomic_files.make_folder(os.path.dirname(path))
    with contextlib.ExitStack() as stack:
        for path in sorted({filesystem.realpath(y or x) for x, y in outputs}):
            busy = ModelError(
                f"{path}: another process is filling it. Wait for it to end, "
                "or choose another --output."
            )
            stack.enter_context(atomic_files.hold_lock(path, busy))
        files = [CatalogFile(*x, language) for x in outputs]
        _fill(files, options, lambda x: (_print(x), tell(x)))


def _fill(files, options, tell):
    for file in files:
        file.header.check_language(options.language, is_given=True)
    if not any(file.open_entries for file in files):
        fill_all(files, None, Memory(), options, tell)
        return
    with options.open() as model:
        asked = CatalogModel(model, options)
        for file in files if options.language is None else ():
            file.header.check_language(asked.language)
        fill_all(files, asked, _memory(options, asked), options, tell)
        for remark in itertools.chain(*(file.remarks for file in files)):
            _print(remark)
        if asked.quality:
            _print(asked.quality)


def _memory(options, model):
    """Reads the files of --memory."""
    memory, is_given = Memory(), options.language is not None
    source = model.source_language or "en"
    target = options.language or model.language
    for path in options.memory or ():
        if target is None and (is_memory(path) or filesystem.isdir(path)):
            raise ModelError(
                f"--memory: the language that {path} is to be read in is not "
                "known. Give --language."
            )
        with name_flag("--memory", path):
            for remark in memory.add_file(path, source, target, is_given):
                _print(f"{path}: {remark}")
    return memory


def _catalogs(paths, language):
    """Returns a dict from catalogues to their names below --output."""
    names = {}
    for path in paths:
        if not filesystem.isdir(path):
            names[path] = os.path.basename(path)
            continue
        found, others = gettext_catalogs.find_catalogs(
            path, language, one_code=True
        )
        names |= {x: os.path.relpath(x, path) for x in found}
        _print(
            f"{path}: of {len(found) + len(others)} catalogues "
            f"{len(found)} in {language}."
        )
    return names


def _language(options):
    """Returns the target language of an export without loading it."""
    language = None
    if options.server is None:
        folder = find_version(options.model, options.version)
        language = read_config(folder).get("target_language")
    if language is None:
        raise ModelError("--language: the catalogues of a folder need one.")
    return language


def _outputs(names, output):
    """Returns pairs of catalogues and the files to write, `None` in place."""
    if output is None:
        for path in names:
            if path.endswith(".pot"):
                raise ModelError(
                    f"{path} is a template. `msginit` makes a catalogue of it, "
                    "or --output names one."
                )
        return [(path, None) for path in names]
    is_folder = output.endswith(os.sep) or filesystem.isdir(output)
    if len(names) == 1 and not is_folder:
        return [(path, output) for path in names]
    if filesystem.exists(output) and not filesystem.isdir(output):
        raise ModelError(
            f"--output: {output} is a file. Expected a folder for "
            f"{len(names)} catalogues."
        )
    pairs = {}
    for path, name in names.items():
        target = os.path.join(output, name)
        if pairs.setdefault(target, path) != path:
            raise ModelError(
                f"--output: {pairs[target]} and {path} would both be {target}."
            )
    return [(path, target) for target, path in pairs.items()]


def _print(done):
    terminal.write(f"{printable(str(done))}\n".encode())


if __name__ == "__main__":
    terminal.start(main)
