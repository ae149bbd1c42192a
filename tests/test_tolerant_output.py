import io
import os
import subprocess
import sys

import pytest

from tfcopy.tolerant_output import TolerantStream, tolerant_output


def closed_pipe():
    """A text file whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w")


def closed_file():
    stream = open(os.devnull, "w")
    stream.close()
    return stream


@pytest.mark.parametrize(
    "make",
    [closed_pipe, closed_file, lambda: open("/dev/full", "w"), type(None)],
)
def test_what_cannot_be_written_is_dropped(monkeypatch, make):
    stream = make()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    with tolerant_output():
        for file in (sys.stdout, sys.stderr):
            assert not file.isatty()
            for _ in range(3):
                print("x" * 100_000, file=file, flush=True)
    assert sys.stdout is sys.stderr is stream
    if stream is not None:
        stream.close()  # raises an error if there is something to write


def test_what_can_be_written_is():
    stream = io.StringIO()
    print("text", file=TolerantStream(stream), flush=True)
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print("cafés", file=TolerantStream(ascii_only), flush=True)
    assert stream.getvalue() == "text\n"
    assert ascii_only.buffer.getvalue() == b"caf\\xe9s\n"


def test_a_process_without_streams_writes_into_no_file(tmp_path):
    """A process of its own: descriptors 0 to 2 are its own only there."""
    code = (
        "import os, sys\n"
        "from tfcopy.tolerant_output import *\n"
        "open_missing_streams()\n"
        f"kept = open({str(tmp_path / 'kept')!r}, 'w')\n"
        "with tolerant_output(): print('out'), print('err', file=sys.stderr)\n"
        "os.write(1, b'out'), os.write(2, b'err')\n"
        "kept.write('kept')"
    )
    done = subprocess.run(
        ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code]
    )
    assert done.returncode == 0
    assert (tmp_path / "kept").read_text() == "kept"


@pytest.mark.parametrize("where", [">/dev/full", "2>/dev/full", "| true"])
def test_python_ends_without_a_complaint(where):
    code = (
        "import sys\n"
        "from tfcopy.tolerant_output import tolerant_output\n"
        "with tolerant_output():\n"
        "    for _ in range(9): print('x' * 9999), print('', file=sys.stderr)"
    )
    program = f'set -o pipefail; "$@" {where}'
    done = subprocess.run(
        ["bash", "-c", program, "bash", sys.executable, "-c", code],
        capture_output=True,
    )
    assert done.returncode == 0 and not done.stderr.strip()
