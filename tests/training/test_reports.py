import contextlib
import io
import math
import re

import pytest

from tfcopy.training.reports import Progress, clock, perplexity


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    "update, rates, per_example, line",
    [
        (10, (1234.5, 2.0), False, "  ppl 8  1,234 tok/s  3:00 left"),
        # After the first update no rate is known.
        (1, (0.0, 0.0), False, "  ppl 8"),
        (10, (1234.5, 2.0), True, "  1,234 examples/s  3:00 left"),
    ],
)
def test_plain_lines_where_there_is_no_terminal(
    update, rates, per_example, line
):
    stream = io.StringIO()
    progress = Progress(total=100, stream=stream, interval=0)
    progress.show(update, math.log(8), *rates, per_example=per_example)
    assert stream.getvalue() == (f"update {update}/100  loss 2.0794{line}\n")


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
