"""The commands that `attacks` attacks: arguments, folders and outcomes.

Not a benchmark itself. In an attack a command has a folder of its own:

    place/out/   what it writes, among files of others
    place/       may be a disk of its own
    log.txt      what it printed
"""

import dataclasses
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from benchmarks import attacked_process
from tfcopy import checked_files
from tfcopy.data import prepare
from tfcopy.serving import batch, evaluate, export, translate_po

# Files of others beside what is written, some named like half-written ones.
_FOREIGN = (
    "notes.txt",
    "folder/notes.txt",
    ".writing-notes.txt",
    ".exporting-notes/notes.txt",
    "preparing-notes/notes.txt",
)
_TEXT = "of somebody else"
# What is not the same in each export, and tells nothing of it.
_CHANGING = ("saved_model.pb", "fingerprint.pb", "variables.index")
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT[\d:]+Z")
_NUM_PAIRS = 60


@dataclasses.dataclass(frozen=True)
class Command:
    """A command to be attacked.

    Attributes:
        name: Its name.
        main: Function of its arguments that returns the exit status.
        arguments: They, with `{sources}` for the folder of `write_sources`
            and `{output}` for its own.
        other: More arguments, with which it writes something else.
        given: A file of the sources that it changes in place.
        prints: Whether its output is what it prints.
        versions: Whether each time it writes a folder of its own.
    """

    name: str
    main: Callable
    arguments: str
    other: str | None = None
    given: str | None = None
    prints: bool = False
    versions: bool = False


def _fill_often(arguments):
    """`translate_po`, which else writes every few seconds."""
    from tfcopy.serving.catalogs import catalog_filling

    catalog_filling._INTERVAL = 0.0
    return translate_po.main(arguments)


COMMANDS = (
    Command(
        "prepare",
        prepare.main,
        "--train {sources}/a.en {sources}/a.fr --output {output} "
        "--pairs_per_shard 20 --remove_duplicates true",
        other="--min_count 2",
    ),
    Command(
        "batch",
        batch.main,
        "{sources}/served --input {sources}/a.en {sources}/a.jsonl "
        "--output {output} --shard_size 16",
        other="--json --n_best 2",
    ),
    Command(
        "translate_po",
        _fill_often,
        "{sources}/served {output}/a.po --language fr --batch_size 4",
        other=r"--protect \w+",
        given="a.po",
    ),
    Command(
        "export",
        export.main,
        "{sources}/run --to {output}",
        other="--set num_beams=3",
        versions=True,
    ),
    Command(
        "evaluate",
        evaluate.main,
        "{sources}/served --source {sources}/a.en --reference {sources}/a.fr "
        "--samples 20 --json",
        prints=True,
    ),
)


def write_sources(folder):
    """Writes texts of a few pairs: as lines, JSON, and as a catalogue."""
    folder.mkdir(parents=True)
    numbers = range(_NUM_PAIRS)
    english, french = (
        [f"{the} name{i} is {i % 7} ." for i in numbers]
        for the in ("the", "le")
    )
    texts = {
        "a.en": english,
        "a.fr": french,
        "a.jsonl": [json.dumps({"text": x}) for x in english],
        "a.po": [
            'msgid ""\nmsgstr ""\n"Language: fr\\n"\n'
            '"Content-Type: text/plain; charset=UTF-8\\n"\n',
            *(f'msgid "{x}"\nmsgstr ""\n' for x in english[:12]),
        ],
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")


class Job:
    """A command in an attack.

    Args:
        command: The command.
        folder: For all that it writes.
        sources: The folder of what it reads.
    """

    def __init__(self, command, folder, sources):
        self.command = command
        self.folder = Path(folder)
        self.place = self.folder / "place"
        self.output = self.place / "out"
        self.sources = sources
        self._foreign = []

    def set_up(self, has_output=True):
        """Writes the files that are there before the command."""
        foreign = [self.place / _FOREIGN[0]]
        if has_output:
            foreign += [self.output / name for name in _FOREIGN]
        for path in foreign:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_TEXT)
        self._foreign = foreign
        for number in range(2):
            self._printed(number).write_text("")
        if self.command.given:
            name = self.command.given
            shutil.copyfile(self.sources / name, self.output / name)

    def start(self, *, other=False, number=0, **how) -> attacked_process.Ended:
        """Runs the command as `attacked_process.run` does.

        Args:
            other: Whether it gets the other arguments as well.
            number: Of several at once.
            how: More arguments of `attacked_process.run`.
        """
        arguments = self.command.arguments
        if other:
            arguments += f" {self.command.other}"
        log = self.folder / f"log-{number}.txt"
        if self.command.prints:
            printed = self._printed(number)
            printed.write_text("")
            how["streams"] = printed, log
        return attacked_process.run(
            self.command.main,
            [
                x.format(sources=self.sources, output=self.output)
                for x in arguments.split()
            ],
            log,
            **how,
        )

    def outcomes(self) -> list[dict]:
        """What has been written, without times: values by names of files.

        Returns:
            A dict for each version; otherwise there is one.

        Raises:
            ValueError: If a file is damaged.
        """
        found = {}
        for path in self.own_files():
            version, name = "", str(path.relative_to(self.output))
            if self.command.versions and name[0].isdigit():
                version, _, name = name.partition("/")
            found.setdefault(version, {})[name] = self._value(path)
        if self.command.prints:
            found = {"": {"": self._printed(0).read_text()}}
        return [*found.values()] or [{}]

    def damage(self, *expected):
        """What must never be there, even half-way, in words, or `None`.

        Args:
            expected: What the finished command may have written.
        """
        if not self.command.prints:
            for found in self.outcomes():
                if not any(self._is_part(found, whole) for whole in expected):
                    return "a half-written or wrong file has its final name"
        return self.foreign_damage()

    def foreign_damage(self):
        """What files of others have suffered, in words, or `None`."""
        for path in self._foreign:
            if not path.exists() or path.read_text() != _TEXT:
                return f"{path.relative_to(self.place)} of others has changed"
        return None

    def own_files(self):
        """The files of its output that it has written."""
        return [
            path
            for path in sorted(self.output.rglob("*"))
            if path.is_file() and path not in self._foreign
        ]

    def _is_part(self, found, whole):
        if self.command.versions:
            return not found.keys() & whole.keys() or found == whole
        if self.command.given:  # An entry of a catalogue is filled or not.
            name = self.command.given
            before = (self.sources / name).read_bytes().decode("latin-1")
            texts = found.get(name, ""), before, whole[name]
            entries = [text.split("\n\n") for text in texts]
            return len({*map(len, entries)}) == 1 and all(
                entry in (old, new) for entry, old, new in zip(*entries)
            )
        return all(found[x] == whole[x] for x in found.keys() & whole.keys())

    def _value(self, path):
        is_hidden = "/." in str(path.relative_to(self.place))
        if is_hidden or path.name in _CHANGING:
            return None
        if path.name.startswith("variables.data"):
            return weights(path.parent)
        if path.suffix == ".json":
            content = without_times(checked_files.read_json(path))
            data = json.dumps(content, sort_keys=True).encode()
        else:
            data = path.read_bytes()
        own = os.fsencode(self.folder)
        return _TIME.sub(b"TIME", data.replace(own, b"")).decode("latin-1")

    def remove(self):
        """Removes all that there is of it."""
        shutil.rmtree(self.folder)

    def _printed(self, number):
        return self.place / f"printed-{number}"


def weights(folder):
    """The weights of a SavedModel, whose names and order are not fixed.

    The states of random generators, which are whole numbers, are not used.
    """
    reader = tf.train.load_checkpoint(str(folder / "variables"))
    tensors = [
        reader.get_tensor(name)
        for name, kind in reader.get_variable_to_dtype_map().items()
        if kind.is_floating
    ]
    return sorted(tensor.tobytes().hex() for tensor in tensors)


def without_times(value):
    """A value of JSON without what tells of seconds."""
    if not isinstance(value, dict):
        return value
    return {k: without_times(v) for k, v in value.items() if "second" not in k}
