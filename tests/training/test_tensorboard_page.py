"""TensorBoard itself, in a browser, on the logs of a small run."""

import contextlib
import os
import re
import subprocess
import sys
import time

import pytest

from tests.recipes import starting
from tests.serving.demo_page.browser import assert_offline, browser
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
    """What a script gives, once that is as it should be."""
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


def test_custom_scalars_are_laid_out(page):
    show(page, "custom_scalars")
    charts = wait(
        page,
        """return find(document, "tf-custom-scalar-multi-line-chart-card").map(
             x => [x.title, new Set(find(x.shadowRoot || x, "path.line").map(
                y => y.getAttribute("stroke"))).size]);""",
        lambda charts: (
            [
                ["dev: perplexity", 2],
                ["dev: loss (nats)", 2],
            ]
            == charts[:2]
        ),
    )
    titles = [title for title, _ in charts]
    assert {"dev: copy probability (0 to 1)", "test: bleu"} <= set(titles)


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


def test_texts_show_answers_and_who_is_best(page):
    show(page, "text")
    texts = wait(
        page,
        """return Object.fromEntries(find(document, "tf-text-loader").map(x =>
             [x.run, find(x.shadowRoot || x, "td").map(y => y.innerText)]));""",
        lambda texts: len(texts) == 3 and all(texts.values()),
    )
    for run in SYSTEMS:
        assert any("name" in cell and "新しい" in cell for cell in texts[run])
    table = texts["all_systems"]
    bleu = table.index("bleu")
    assert all(float(cell) >= 0 for cell in table[bleu + 1 : bleu + 3])


def test_projector_shows_the_words(page, logs, tmp_path):
    show(page, "projector")
    try:
        for _ in range(2):
            script = 'return find(document, "iframe")[0];'
            page.switch_to.frame(wait(page, script, lambda frame: frame))
        number = wait(
            page,
            """return find(document, ".numDataPoints").map(
                 x => x.innerText)[0];""",
            lambda number: number and int(number) > 0,
        )
        with open(
            logs / "nmt" / "metadata_source.tsv", encoding="utf-8"
        ) as file:
            words = file.read().splitlines()
        assert int(number) == len(words)
        search = page.execute_script(
            FIND
            + """return find(document, "vz-projector-inspector-panel").flatMap(
                   x => find(x.shadowRoot, "#search-box").map(
                     y => find(y.shadowRoot, "input")[0]))[0];"""
        )
        search.send_keys("新しい")
        wait(
            page,
            """return find(document, "vz-projector-metadata-card").map(x =>
                 find(x.shadowRoot, "#metadata-label").map(
                   y => y.innerText).join(" ")).join(" ");""",
            lambda text: "新しい" in text,
        )
        neighbors = wait(
            page,
            """return find(document, "vz-projector-inspector-panel").flatMap(
                 x => find(x.shadowRoot, ".nn-list .label").map(
                   y => y.innerText));""",
            lambda neighbors: neighbors,
        )
        assert set(neighbors) <= set(words)
        page.screenshot(tmp_path / "projector.png")
    finally:
        page.switch_to.default_content()
    assert_offline(page)


@pytest.mark.skipif("TFCOPY_LOGS" not in os.environ, reason="shows TFCOPY_LOGS")
def test_a_run_is_photographed(tmp_path):
    """Makes the pictures in docs/ of a real run's folder, TFCOPY_LOGS.

    TFCOPY_SCREENSHOTS says where to. With TFCOPY_WORD only the projector is
    shown, with this word chosen.
    """
    folder = os.environ.get("TFCOPY_SCREENSHOTS", tmp_path)
    word = os.environ.get("TFCOPY_WORD")
    loaded = {
        "custom_scalars": """return find(document, "path.line").length;""",
        "images": """return find(document, "tf-image-loader").filter(x =>
            find(x.shadowRoot || x, "img").some(
              y => y.naturalWidth)).length;""",
    }
    with tensorboard(os.environ["TFCOPY_LOGS"]) as address:
        with browser(1260, 1160) as page:
            page.address = address
            for tab, script in {} if word else loaded.items():
                show(page, f"{tab}&tagFilter=attention%2F[13]")
                wait(page, script, lambda number: number >= 4)
                time.sleep(2)  # They are faded in.
                name = {"custom_scalars": "scalars"}.get(tab, tab)
                page.screenshot(f"{folder}/tensorboard_{name}.png")
            if not word:
                return
            show(page, "projector")
            for _ in range(2):
                script = 'return find(document, "iframe")[0];'
                page.switch_to.frame(wait(page, script, lambda frame: frame))
            script = """return find(document, ".numDataPoints").map(
                x => x.innerText)[0];"""
            wait(page, script, lambda number: number and int(number) > 0)
            script = """return find(document, "vz-projector-inspector-panel")
                .flatMap(x => find(x.shadowRoot, "#search-box").map(
                y => find(y.shadowRoot, "input")[0]))[0];"""
            wait(page, script, lambda search: search).send_keys(word)
            script = """return find(document, "vz-projector-inspector-panel")
                .flatMap(x => find(x.shadowRoot, ".nn-list .label")).length;"""
            wait(page, script, lambda number: number)
            time.sleep(2)
            page.screenshot(f"{folder}/tensorboard_projector.png")
