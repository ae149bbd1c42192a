import contextlib
import io
import math
import re

import pytest

from tfcopy.training.reports import Progress, clock, perplexity


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_plain_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    progress = Progress(total=100, stream=stream, interval=0)
    progress.show(10, math.log(8), 1234.5, 2.0)
    line = "update 10/100  loss 2.0794  ppl 8  1,234 tok/s  3:00 left\n"
    assert stream.getvalue() == line


def test_after_the_first_update_no_rate_is_known():
    stream = io.StringIO()
    progress = Progress(total=100, stream=stream, interval=0)
    progress.show(1, math.log(8), 0.0, 0.0)
    assert stream.getvalue() == "update 1/100  loss 2.0794  ppl 8\n"


def test_a_loss_per_example_has_no_perplexity():
    stream = io.StringIO()
    progress = Progress(total=100, stream=stream, interval=0)
    progress.show(10, math.log(8), 1234.5, 2.0, per_example=True)
    line = "update 10/100  loss 2.0794  1,234 examples/s  3:00 left\n"
    assert stream.getvalue() == line


def test_plain_lines_are_rare():
    stream = io.StringIO()
    progress = Progress(stream=stream, interval=60)
    for update in range(5):
        progress.show(update, 1.0, 1.0, 1.0)
    assert stream.getvalue().count("\n") == 1


def test_terminal_shows_one_bar(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    progress = Progress(total=4, stream=stream)
    progress.show(2, 1.0, 1.0, 1.0)
    progress.report("dev loss 1")
    progress.close()
    lines = stream.getvalue().split("\n")
    drawn = re.fullmatch(
        r"(\rupdate 2/4  (\S+) +\S* *loss 1.0000 .* left)+", lines[0]
    )
    assert drawn and len(lines[0].split("\r")[-1]) < 100
    assert lines[1:] == ["dev loss 1", ""]


def test_silence():
    stream = Terminal()
    progress = Progress(stream=stream, enabled=False)
    progress.show(1, 1.0, 1.0, 1.0)
    progress.report("text")
    assert not stream.getvalue()


@pytest.mark.parametrize("is_open", [True, False])
def test_a_stream_that_takes_nothing_is_no_error(is_open):
    stream = open("/dev/full", "w")
    if not is_open:
        stream.close()
    progress = Progress(stream=stream, interval=0)
    progress.show(1, 1.0, 1.0, 1.0)
    progress.report("text")
    progress.close()
    with contextlib.suppress(OSError):
        stream.close()


@pytest.mark.parametrize(
    "seconds, text", [(0, "0:00"), (62, "1:02"), (3723.9, "1:02:03")]
)
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_perplexity_of_a_hopeless_loss_is_infinite():
    assert perplexity(1e6) == math.inf
