"""TensorBoard itself, in a browser, on the logs of a small run."""

import contextlib
import re
import subprocess
import sys
import time

import pytest

from tests.recipes import starting
from tests.serving.web.browser import assert_offline, browser
from tfcopy.recipes import europarl_ps

pytestmark = pytest.mark.slow
pytest.importorskip("matplotlib")

SYSTEMS = ["nmt", "pointer_softmax"]
TINY = """--units 8 --encoder_units 8 --embedding_dim 8 --updates 4
--eval_every 2 --batch_size 8 --max_target_length 6 --num_beams 2""".split()
WORDS = "le prix est 新しい naïve $5 .".split()

# Elements that a selector matches, within shadow roots as well.
FIND = """
function find(root, selector) {
  const found = [...root.querySelectorAll(selector)];
  for (const element of root.querySelectorAll("*")) {
    if (element.shadowRoot) found.push(...find(element.shadowRoot, selector));
  }
  return found;
}
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """The logs of two systems, as the recipe leaves them."""
    folder = tmp_path_factory.mktemp("run")
    for name, the in (("a.en", "the"), ("a.fr", "le")):
        lines = [" ".join([the, f"name{i}", *WORDS]) for i in range(60)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = f"[{folder}/a.en, {folder}/a.fr]"
    assert starting.start(europarl_ps, TINY, folder, "--train", files) == 0
    return folder / "logs" / "demo"


@contextlib.contextmanager
def tensorboard(logs):
    """Its own process; gives the address."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logs)]
    command += "--host 127.0.0.1 --port 0 --load_fast=false".split()
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                found = re.search(r"http://127\.0\.0\.1:\d+", line)
                if found:
                    yield found.group()
                    return
            pytest.fail("TensorBoard has not started: " + "".join(lines))
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def page(logs):
    with tensorboard(logs) as address, browser(1400, 1200) as page:
        page.address = address
        yield page


def show(page, tab):
    page.get(f"{page.address}/#{tab}")
    page.refresh()


def wait(page, script, holds, seconds=250):
    """Returns the result of a script, once it is as it should be."""
    end = time.monotonic() + seconds
    while True:
        value = page.execute_script(FIND + script)
        if holds(value):
            return value
        if time.monotonic() > end:
            pytest.fail(f"After {seconds} seconds still: {value!r}")
        time.sleep(0.2)


def test_scalars_show_a_line_for_each_system(page, tmp_path):
    show(page, "scalars")
    lines = wait(
        page,
        """return Object.fromEntries(find(document, "tf-scalar-card").map(x =>
             [x.tag, new Set(find(x.shadowRoot || x, "path.line").map(
                y => y.getAttribute("stroke"))).size]));""",
        lambda lines: lines.get("dev/loss") == lines.get("dev/perplexity") == 2,
    )
    assert {"test/bleu", "test/chrf"} <= set(lines)
    runs = wait(
        page,
        """return find(document, "tf-runs-selector").flatMap(x =>
             find(x.shadowRoot || x, ".item-label-container").map(
               y => y.innerText.trim()));""",
        lambda runs: len(runs) >= 3,
    )
    # No data, checkpoints or pictures among them.
    assert set(runs) == {*SYSTEMS, "all_systems"}
    page.screenshot(tmp_path / "scalars.png")
    assert_offline(page)


def test_pictures_of_attention_are_there(page, tmp_path):
    show(page, "images")
    expected = {(run, f"attention/{i}") for run in SYSTEMS for i in range(3)}
    expected.add(("all_systems", "dev_nll"))
    images = wait(
        page,
        """return find(document, "tf-image-loader").map(x => [x.run, x.tag,
             ...find(x.shadowRoot || x, "img").map(y => y.naturalWidth)]);""",
        # A row without its picture has no width yet.
        lambda rows: (
            len(rows) == len(expected)
            and all(len(row) == 3 and row[2] for row in rows)
        ),
    )
    assert {(run, tag) for run, tag, _ in images} == expected
    assert all(width > 200 for _, _, width in images)
    page.screenshot(tmp_path / "images.png")
    assert_offline(page)
