import errno
import io
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.growth import check_linear
from tfcopy.terminal import (
    TolerantStream,
    one_line,
    printable,
    run,
    tolerant_output,
)

# As TensorFlow 2.21 says it; to have it said takes the allocator 10 seconds.
OUT_OF_MEMORY = """Graph execution error:

Detected at node while/random_uniform/RandomUniform defined at (most recent \
call last):
  File "search.py", line 20, in <module>

  File "search.py", line 12, in loop

OOM when allocating tensor with shape[1048576,1048576] and type float on \
/job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu
\t [[{{node while/random_uniform/RandomUniform}}]]
Hint: If you want to see a list of allocated tensors when OOM happens, add \
report_tensor_allocations_upon_oom to RunOptions for current allocation info. \
This isn't available when running in Eager mode.
 [Op:__inference_loop_56]"""
OF_AN_EXPORT = """{{function_node __inference_signature_wrapper_<lambda>_201}} \
OOM when allocating tensor with shape[1048576,1048576] and type float on \
/job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu
\t [[{{function_node __inference_<lambda>_196}}{{node random_uniform}}]]
Hint: If you want to see a list of allocated tensors when OOM happens, add \
report_tensor_allocations_upon_oom to RunOptions for current allocation info.
 [Op:__inference_signature_wrapper_<lambda>_201]"""
OF_AN_OPERATION = """{{function_node __wrapped__Fill_device_/device:CPU:0}} \
OOM when allocating tensor with shape[1048576,1048576] and type float on \
/job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu [Op:Fill] \
name: """


def raised(function):
    try:
        function()
    except Exception as error:
        return error


@pytest.mark.parametrize("text", [OUT_OF_MEMORY, OF_AN_EXPORT, OF_AN_OPERATION])
def test_a_lack_of_memory_is_one_line(text):
    assert one_line(tf.errors.ResourceExhaustedError(None, None, text)) == (
        "Out of memory: there is none for a tensor of shape[1048576,1048576]."
    )


def test_a_name_that_is_not_utf_8_is_told():
    error = raised(lambda: "a\udcff.en".encode())
    assert one_line(error) == "a\\udcff.en: not UTF-8."
    page = raised(lambda: f"{'<p>' * 5_000}\ud800{'</p>' * 5_000}".encode())
    told = one_line(page)
    assert "\\ud800" in told and told.endswith("not UTF-8.")
    assert len(told) < 300


def test_what_tensorflow_says_around_a_reason_is_left_out():
    @tf.function
    def check(size):
        tf.debugging.assert_equal(size, 0, "one row an example")

    def bad(_):
        raise ValueError("a.en, line 3: bad")

    def read():
        numbers = tf.data.Dataset.range(1)
        return list(
            numbers.map(lambda x: tf.numpy_function(bad, [x], tf.int32))
        )

    assert one_line(raised(lambda: check(tf.constant(1)))).startswith(
        "assertion failed: [one row an example]"
    )
    assert one_line(raised(read)).endswith(": ValueError: a.en, line 3: bad")
    several = """Graph execution error:

Detected at node a defined at (most recent call last):
<stack traces unavailable>
Detected at node b defined at (most recent call last):
<stack traces unavailable>
2 root error(s) found.
  (0) INTERNAL:  the reason
\t [[{{node a}}]]
\t [[b/_2]]
  (1) INTERNAL:  another
\t [[{{node a}}]]
0 successful operations. [Op:__inference_f_1] name: """
    error = tf.errors.InternalError(None, None, several)
    assert one_line(error) == "the reason"


def test_long_errors_take_no_longer_than_they_are():
    for part in ("{{", "[[", "1", "[", "(1"):
        check_linear(
            lambda text: one_line(tf.errors.InternalError(None, None, text)),
            lambda size: part * (size // len(part)),
        )


def test_other_errors_are_one_line():
    error = raised(lambda: np.empty([1 << 25, 1 << 25]))
    assert one_line(error).startswith("Out of memory: Unable to allocate 8.00")
    assert one_line(MemoryError()) == "Out of memory."
    assert one_line(raised(lambda: open("/none"))) == (
        "/none: No such file or directory"
    )
    assert one_line(OSError(errno.ENOSPC, "No space")) == "No space"
    assert one_line(ValueError("a,\n line 3")) == "a, line 3"
    assert one_line(ValueError()) == "ValueError"
    assert one_line("") == ""
    assert len(one_line("x" * 10_000)) < 1_100


def test_no_control_character_is_told():
    points = [*range(0x300), 0x2028, 0x2029]
    text = printable("".join(map(chr, points)))
    controls = {*map(chr, [*range(32), *range(127, 160)])}
    assert len(text) == len(points) and not controls & {*text}


class Stopped(Exception):
    exit_code = 143


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize(
    "error, status, told",
    [
        (ValueError("a.en, line 3:\nbad"), 2, "ask: a.en, line 3: bad\n"),
        (
            FileNotFoundError(2, "No such file", "a"),
            2,
            "ask: a: No such file\n",
        ),
        (OSError("disk: none"), 2, "ask: disk: none\n"),
        (ImportError("no beam"), 2, "ask: no beam\n"),
        (OSError(errno.ENOSPC, "No space"), 1, "ask: No space\n"),
        (MemoryError(), 1, "ask: Out of memory.\n"),
        (RecursionError("too\ndeep"), 1, "ask: too deep\n"),
        (RuntimeError("tfcopy.a.B: b [while running 'c']"), 1, "ask: b\n"),
        (Stopped("Saved."), 143, "ask: Saved.\n"),
        (KeyboardInterrupt(), 130, ""),
        (None, 0, ""),
    ],
)
def test_a_command_ends_with_one_line(
    monkeypatch, capsys, error, status, told, tolerant
):
    def work():
        if error is not None:
            raise error

    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    monkeypatch.delenv("TFCOPY_DEBUG", raising=False)
    assert run("ask", work, tolerant=tolerant) == status
    assert capsys.readouterr().err == told
    if status in (1, 2):
        monkeypatch.setenv("TFCOPY_DEBUG", "1")
        with pytest.raises(type(error)):
            run("ask", work, tolerant=tolerant)


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
        "from tfcopy.terminal import *\n"
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
        "from tfcopy.terminal import tolerant_output\n"
        "with tolerant_output():\n"
        "    for _ in range(9): print('x' * 9999), print('', file=sys.stderr)"
    )
    program = f'set -o pipefail; "$@" {where}'
    done = subprocess.run(
        ["bash", "-c", program, "bash", sys.executable, "-c", code],
        capture_output=True,
    )
    assert done.returncode == 0 and not done.stderr.strip()
