"""What the attacks on commands would find, without the attacks."""

import shutil

import pytest

from benchmarks import attacked_commands, attacked_process
from benchmarks.attacked_commands import Command, Job
from benchmarks.command_attacks import CommandAttacks, Tally, difference
from tfcopy import checked_files


def fill(arguments):
    """A command that fills a catalogue in place, or half of it."""
    path = arguments[0]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    number = 1 if "--half" in arguments else -1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace('msgstr ""\n\n', 'msgstr "x"\n\n', number))
    return 0


@pytest.fixture
def sources(tmp_path):
    attacked_commands.write_sources(tmp_path / "sources")
    return tmp_path / "sources"


@pytest.fixture
def here(monkeypatch):
    """Commands run in this process, and print nothing."""

    def run(main, arguments, log, **how):
        return attacked_process.Ended(main(arguments), "", 0.0, 1)

    monkeypatch.setattr(attacked_process, "run", run)


FILL = Command("fill", fill, "{output}/a.po", other="--half", given="a.po")


@pytest.mark.parametrize(
    "status, text, problem",
    [
        (0, "", None),
        (-9, "", None),
        (2, "batch: a.txt: no such file.", None),
        (1, "\nError: no.\n(TFCOPY_DEBUG=1 shows the traceback.)", None),
        (None, "", "hang"),
        (-11, "", "ended by SIGSEGV"),
        (1, "Traceback (most recent call last):", "Traceback"),
        (2, "", "no line that says what is wrong"),
        (1, "Error: a\nError: b", "no line that says what is wrong"),
    ],
)
def test_how_a_command_may_end(status, text, problem):
    assert attacked_process.Ended(status, text, 1.0, 1).problem == problem


def test_an_entry_is_filled_or_not_and_nothing_else(tmp_path, sources, here):
    job = Job(FILL, tmp_path / "job", sources)
    job.set_up()
    assert job.start().status == 0
    (whole,) = job.outcomes()
    job.set_up()
    job.start(other=True)
    assert difference(job.outcomes()[0], whole) == "other a.po"
    assert job.damage(whole) is None
    path = job.output / "a.po"
    path.write_bytes(path.read_bytes()[:-9])
    assert (
        job.damage(whole) == "a half-written or wrong file has its final name"
    )
    path.unlink()
    assert (
        job.damage(whole) == "a half-written or wrong file has its final name"
    )


def test_files_of_others_and_what_is_read_stay(tmp_path, sources, here, capsys):
    tally = Tally()
    command = Command("fill", fill, FILL.arguments, given="a.po")
    attacks = CommandAttacks(command, tmp_path, sources, tally, 0)
    attacks.count("alone", "done", attacks.whole, attacks.ended)
    assert tally.num_problems == 0
    shutil.rmtree(attacks.whole.output / "folder")
    attacks.count("others", "done", attacks.whole, attacks.ended)
    job = attacks.job("spoilt")
    job.set_up()
    attacks.count("sources", "done", job, attacks.ended)
    job.start()
    (sources / "a.en").write_text("x")
    attacks.count("sources", "done", job, attacks.ended)
    printed = capsys.readouterr().out
    assert "fill: others: out/folder/notes.txt of others has chang" in printed
    assert "fill: sources: other a.po" in printed
    assert "fill: sources: what it reads has changed" in printed
    assert tally.num_problems == 3


def test_versions_are_whole_and_times_do_not_count(tmp_path, sources, here):
    def write(arguments):
        for version in "12":
            folder = job.output / version
            folder.mkdir(exist_ok=True)
            content = {"created": "2026-01-02T03:04:05Z", "seconds": version}
            checked_files.write_json(folder / "a.json", {**content, "n": 1})
            (folder / "b.md").write_text(
                f"{job.output} 2026-01-02T03:04:0{version}Z"
            )
        return 0

    command = Command("write", write, "{output}", versions=True)
    job = Job(command, tmp_path / "job", sources)
    job.set_up()
    job.start()
    first, second = job.outcomes()
    assert difference(first, second) is None and set(first) == {
        "a.json",
        "b.md",
    }
    assert job.damage(first) is None
    (job.output / "2" / "b.md").unlink()
    assert (
        job.damage(first) == "a half-written or wrong file has its final name"
    )
    (job.output / "2" / "a.json").write_text('{"n": 2, "sha256": ""}')
    with pytest.raises(checked_files.DamagedFileError):
        job.damage(first)


def test_the_commands_of_the_table_have_places_for_all_they_name():
    for command in attacked_commands.COMMANDS:
        arguments = f"{command.arguments} {command.other or ''}"
        assert callable(command.main)
        assert arguments.format(sources="s", output="o").count("{") == 0
        assert ("{output}" in arguments) != command.prints
