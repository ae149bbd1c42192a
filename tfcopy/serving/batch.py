"""Answers all texts of files as `tfcopy ask` answers lines.

A pipeline of Apache Beam does it. The name of a file determines its format:

  .jsonl, .ndjson, .json   JSON objects, one per line
  .parquet                 rows
  others                   lines of text

Text and JSON may be compressed by gzip, bzip2, xz or zip, whatever the name of
the file, and may be UTF-16 with a byte order mark. Answers have the format of
their file: a line for a line, otherwise the record, unchanged byte for byte (in
Parquet, value by value), with one more field, "answer", which is null if there
is no answer. --answer_field names the field; files whose records already have
it are refused. Lines that are not JSON objects get {"answer": null}.

The answers to a.jsonl.gz are in a-00000.jsonl.gz, a-00001.jsonl.gz and so on in
--output, --shard_size records each, in the order of the file. Other compression
is not repeated: the answers to a.txt.xz are in a-00000.txt. If the name of a
text has another ending, such as t.en, they are in t.en-00000.txt. Failures are
in a-00000.jsonl.gz.dead.jsonl, with the line as "input", or {"b64": ...},
base64 of bytes that are not UTF-8; a row of Parquet is a stream of Arrow.

Repeat a command that was killed: existing answers stay, and nothing is answered
twice. batch.json in --output records the request. Concurrent commands need
separate folders.

MODEL is what a recipe exports, or ADDRESS/MODEL on a server.
"""

import dataclasses
import os
import time

from tfcopy import atomic_files, checked_files, filesystem, terminal
from tfcopy.data import parallel
from tfcopy.flags import File, Folder, Parser, PositiveInt
from tfcopy.runtime import answer_lines
from tfcopy.runtime.loading import ModelOptions
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.versions import find_version
from tfcopy.serving import record_files
from tfcopy.terminal import one_line, quantify

_PLAN = "batch.json"
_PLAN_FIELDS = {"asked": dict, "files": dict}
# Options that change the answers, or their files.
_ASKED = ("shard_size", "field", "answer_field", "json", "n_best")
_ASKED += ("server", "model", "version")
_EXAMPLES = """\
examples:
  %(prog)s savedmodels/europarl_ps --input 'in/*.jsonl.gz' --output out/
  %(prog)s savedmodels/europarl_ps --input in/*.txt --output out/ \\
    -- --direct_running_mode=multi_processing --direct_num_workers=2
  %(prog)s localhost:8501/europarl_ps --input a.parquet --output out/

Options after -- are those of the runner. Runners on several machines need the
model, --input and --output under the same paths.

"""


@dataclasses.dataclass(kw_only=True)
class Options(answer_lines.AnswerOptions, ModelOptions):
    """Flags of `batch`: the model, the files, and where answers go.

    Attributes:
        input: files, or patterns in quotes such as 'in/*.jsonl.gz'
        output: folder of the answers
        field: field of the text, for models that read one text (default: the
            model's own name, text)
        answer_field: field of the answer, except for lines of text
        shard_size: records in a file of answers
        runner: runner of Beam
    """

    input: list[File]
    output: Folder
    field: str | None = None
    answer_field: str = "answer"
    shard_size: PositiveInt = 2048
    runner: str = "DirectRunner"


def main(arguments=None):
    """Runs the command, and returns its exit status."""
    arguments, beam_flags = parallel.split_flags(arguments)
    epilog = _EXAMPLES + answer_lines.FORMS
    options = Parser(Options, __doc__, epilog).parse(arguments)
    return terminal.run("batch", lambda: _answer(options, beam_flags))


def _answer(options, beam_flags):
    with parallel.quietly():  # If it is missing, nothing is written.
        import apache_beam  # noqa: F401
    if options.n_best and not options.json:
        raise ModelError("--n_best needs --json.")
    paths = _files(options.input)
    for path in paths:
        record_files.check(path)
    filesystem.makedirs(options.output)
    busy = ModelError(
        f"--output: another command is answering into {options.output}. Wait "
        "for it to end, or choose another folder."
    )
    with atomic_files.hold_lock(os.path.join(options.output, _PLAN), busy):
        _answer_files(options, paths, beam_flags)


def _answer_files(options, paths, beam_flags):
    if options.server is None:
        # All workers use the same version, even if another is exported.
        options.model = find_version(options.model, options.version)
        options.version = None
    _check_plan(options, paths)
    start = time.monotonic()
    with parallel.quietly():
        # Imported late, so that --help is fast.
        from tfcopy.serving import batch_pipeline

        options.output = filesystem.abspath(options.output)
        try:
            counts = batch_pipeline.run(options, paths, beam_flags)
        except Exception as error:
            raise ModelError(one_line(error)) from error
    seconds = time.monotonic() - start
    print(
        f"{quantify(len(paths), 'file')}: {quantify(counts['texts'], 'text')} "
        f"answered in {seconds / 60:.1f} minutes "
        f"({counts['texts'] / seconds:.1f} texts/s), "
        f"{counts['dead_letters']:,} without an answer; "
        f"{quantify(counts['shards'], 'shard')} written, "
        f"{counts['shards_there_before']:,} there before"
    )


def _files(patterns):
    """Returns the files that patterns match, whose outputs differ in name."""
    paths = []
    for pattern in patterns:
        # The name of a file may look like a pattern.
        is_file = filesystem.isfile(pattern)
        found = [pattern] if is_file else sorted(filesystem.glob(pattern))
        found = list(map(filesystem.abspath, filter(filesystem.isfile, found)))
        if not found:
            # A pipe can be read only once, and by one process.
            raise ModelError(f"--input: there is no file {pattern}.")
        paths += found
    paths = list(dict.fromkeys(paths))
    names = {}
    for path in paths:
        other = names.setdefault(record_files.output_name(path, 0), path)
        if other != path:
            raise ModelError(
                f"--input: {path} and {other} would have their answers in "
                "files of the same name. Answer them into folders of their own."
            )
    return paths


def _check_plan(options, paths):
    """Checks that the folder does not hold answers to other requests."""
    asked = {name: getattr(options, name) for name in _ASKED}
    asked["names"] = record_files.output_name("t.en", 0)
    for name in ("dictionary", "glossary"):
        path = getattr(options, name)
        asked[name] = path and _state(path)
    files = {path: _state(path) for path in paths}
    plan_path = os.path.join(options.output, _PLAN)
    try:
        plan = checked_files.read_json(plan_path)
        checked_files.check_fields(plan_path, plan, _PLAN_FIELDS)
    except FileNotFoundError:
        plan = {"asked": asked, "files": {}}
    for name, value in asked.items():
        if plan["asked"].get(name) != value:
            there = plan["asked"].get(name)
            raise _other(
                options, f"with {name} {there}; this command has {value}"
            )
    for path, state in files.items():
        if plan["files"].get(path, state) != state:
            raise _other(options, f"to {path}, which has changed since")
    names = {
        record_files.output_name(path, 0): path
        for path in plan["files"] | files
    }
    if len(names) < len(plan["files"] | files):
        raise _other(options, "to other files of the same names")
    plan["files"] |= files
    checked_files.write_json(plan_path, plan)


def _other(options, what):
    """Returns the error of an output folder that holds other answers."""
    return ModelError(
        f"--output: {options.output} holds answers {what}. Choose another "
        "folder."
    )


def _state(path):
    """Returns the size and time of a file, which show changes."""
    if filesystem.exists(path) and not filesystem.isfile(path):
        raise ModelError(
            f"{path}: a folder, or a pipe, which is read once only."
        )
    try:
        return [filesystem.size(path), filesystem.getmtime(path)]
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}.") from error


if __name__ == "__main__":
    terminal.start(main)
