"""A site of exports, in a real browser."""

import contextlib
import json
import os
import random
import re
import shutil

import pytest
from keras import ops

from tests.runtime.text_sides import ODD, SIDES
from tests.serving.servables.translators import NAMES, Copier, copier
from tests.serving.web.browser import assert_offline, set_color_scheme
from tests.serving.web.page import RESULT, files_of, need_litert, opened
from tfcopy.data import SentencepieceTokenizer, Tokenizer, train_sentencepiece
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.decoding import SearchOptions
from tfcopy.layers.copying import MASKED, CopyDistribution
from tfcopy.runtime.local_model import LocalModel
from tfcopy.serving import saved_model
from tfcopy.serving.servables.text_model import NUM_SPECIALS
from tfcopy.serving.web import write_site

pytest.importorskip("ai_edge_litert")
pytestmark = pytest.mark.long

FORMATS = ("rst", "placeholders")
MODELS = ("words", "subwords", "characters")
NASTY = "<script>hacked=1</script> <img/src=x/onerror=hacked=1> ${1+1} {{a}}"
TEXTS = [f"the session of {x} , is open ." for x in NAMES]


class Hesitant(Copier):
    """Copies each word; or, less probably, generates the first it knows.

    Different answers are differently probable.
    """

    def decode_step(self, ids, state, memory):
        generate = 0.2 + 0.01 * ops.cast(state, "float32")  # (B, K)
        distribution, attention, state = super().decode_step(ids, state, memory)
        is_end = distribution.log_generate > -1  # (B, K)
        said = ops.arange(self.vocabulary_size) == NUM_SPECIALS
        distribution = CopyDistribution(
            ops.where(
                is_end[..., None],
                distribution.generate_logits,
                ops.where(said, 0.0, MASKED),
            ),
            ops.where(is_end, 0.0, ops.log(generate)),
            distribution.copy_log_probs + ops.log(1 - generate)[..., None],
        )
        return distribution, attention, state


def options_of(name, folder):
    """What makes the copier one of words, subwords or characters."""
    if name == "words":
        source = Tokenizer(language="en")
        return {"model": Hesitant(), "source_tokenizer": source}
    if name == "characters":
        tokenizers = dict.fromkeys(SIDES, Tokenizer("characters"))
        return {"max_source_length": 20, **tokenizers}
    path = str(folder / "pieces.model")
    lines = [f"the session {x} is open , and so on ." for x in "abcdefgh"]
    train_sentencepiece.train(lines, 25, path, protect=FORMATS)
    inner = SentencepieceTokenizer(path)
    search = SearchOptions(num_beams=2, max_length=24, must_copy=True)
    tokenizers = dict.fromkeys(SIDES, ProtectedTokenizer(inner, FORMATS))
    return {"options": search, **tokenizers}


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Folders of exports of the copier, by their names."""
    need_litert()
    folder = tmp_path_factory.mktemp("exports")
    for name in MODELS:
        options = options_of(name, folder)
        translator = copier(litert="int8", max_source_length=15)
        translator = translator.copy(**options)
        examples = [{"text": text} for text in (TEXTS[0], NASTY)]
        saved_model.export(translator, folder / name, warmup_texts=examples)
    return {name: str(folder / name) for name in MODELS}


@pytest.fixture(scope="module")
def site(exports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "site"
    write_site.write_site(exports.values(), str(folder))
    return folder


@pytest.fixture(scope="module")
def page(site):
    with files_of(site) as port, opened(f"http://127.0.0.1:{port}") as page:
        yield page


# Answers of the page, without its fields: `arguments` are a model's number,
# texts, and the function to call.
_ASK = """
const [number, texts, done] = arguments;
(async () => {
  const { src } = document.querySelector("script[src]");
  const { InBrowser } = await import(new URL("backends.js", src));
  const site = document.getElementById("site").textContent;
  const { models, files } = JSON.parse(site);
  const model = new InBrowser(models[number], files);
  const found = [];
  for (const text of texts) found.push(await model.answer({ text }, []));
  return found;
})().then(done, (error) => done(error.message));
"""


@pytest.mark.parametrize(
    "count", [0, pytest.param(200, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_the_runtime(page, exports, name, count):
    draw = random.Random(0)
    words = [*"the session of is open . , %s {x} ``y`` <a>".split(), *NAMES]
    drawn = [" ".join(draw.choices(words, k=9)) for _ in range(count)]
    texts = [*map(str_, ODD), NASTY, *TEXTS, *drawn]
    page.set_script_timeout(200)
    found = page.execute_async_script(_ASK, MODELS.index(name), texts)
    assert not isinstance(found, str), found
    model = LocalModel(exports[name], engine="litert")
    for text, outputs in zip(texts, found, strict=True):
        (expected,) = model.analyse([text])
        for key in ("texts", "tokens", "source_tokens", "copied_from"):
            plain = json.loads(json.dumps(expected[key].tolist(), default=str_))
            assert outputs[key] == plain, (text, key)
        assert outputs["scores"] == pytest.approx(expected["scores"], abs=1e-4)


def str_(x):
    return x.decode(errors="replace")


def test_a_visitor_sees_what_was_copied(page):
    page.refresh()
    page.choose("words")
    page.requests()
    page.click("#examples button")
    page.settle()
    assert page.all("#text-text")[0].get_attribute("value") == TEXTS[0]
    assert page.answer() == "the session of Łukasz , is open ."
    copied = page.all("#result section:nth-child(2) mark.copied")
    assert "copied from word 4, Łukasz" in copied[3].get_attribute("title")
    assert page.section("Answer").startswith("8 of 8 words copied")
    assert "80%" in page.section("Generate or copy?")
    assert len(page.all(".map .framed")) == 8
    assert "was copied from word 3" in page.texts("#result .note")[0]
    assert_offline(page)


def test_each_control_can_be_clicked(page):
    page.choose("words")
    page.type("the session")
    page.settle()
    assert page.answer() == "the session"
    others = page.texts(".choices button")
    page.click(".choices button", 1)
    assert page.texts(".choices [aria-pressed=true]") == others[1:2]
    assert others[1].endswith(page.answer()) and page.answer() != "the session"
    page.choose("subwords")
    page.click("summary")
    page.insert("#lines", "session = %s Sitzung")
    page.type("the session %s is ``x`` .")
    page.settle()
    assert "required translations" in page.texts("#result .note")[0]
    page.insert("#lines", "session")
    page.click("button.primary")
    page.wait(lambda: "“session”: write two sides with =" in page.error())
    page.choose("characters")
    assert not page.texts(RESULT)
    page.click("#examples button", 1)
    page.settle()
    assert page.answer() == NASTY[:20]
    assert not page.execute_script("return window.hacked")


def test_a_link_leads_to_an_answer(page):
    page.choose("words")
    page.type("the session & so %20 on")
    page.settle()
    page.click(".choices button", 1)
    link, answer = page.driver.current_url, page.answer()
    page.get("about:blank")
    page.get(link)
    page.settle()
    assert page.answer() == answer != "the session & so %20 on"
    page.get("about:blank")
    page.get(f"{link.partition('#')[0]}#model=none")
    page.wait(lambda: page.texts("#facts")[0])


def test_a_long_text_and_an_old_browser_are_told(site):
    lacking = "WebAssembly.validate = () => false"
    with files_of(site) as port, opened(f"http://127.0.0.1:{port}") as page:
        page.choose("words")
        page.type("x" * 20_001)
        page.settle()
        assert "has 20,001 characters. The page takes up to" in page.error()
        page.insert("#text-text", "")
        page.type("a" + "\u0301" * 999)
        page.settle()
        assert page.answer() == "a" + "\u0301" * 30 + "…"
        page.execute_script(lacking)
        page.type("the session")
        page.settle()
        assert "lacks WebAssembly with SIMD" in page.error()
        assert "Use a current Firefox" in page.error()


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("model-[0-9a-f]*/search.tflite.gzip", "altered"),
        ("model-[0-9a-f]*/texts.json.gzip", "missing"),
        ("page-[0-9a-f]*/litert/litert_wasm_internal.wasm.gzip", "altered"),
        ("page-[0-9a-f]*/text_functions.js", "altered"),
    ],
)
def test_a_damaged_file_is_named(site, tmp_path, name, fault):
    folder = shutil.copytree(site, tmp_path / "site")
    contents = {path: path.read_bytes() for path in folder.glob(name)}
    for path, content in contents.items():
        path.unlink()
        if fault == "altered":
            path.write_bytes(content[:-9] + b"x" + content[-8:])
    with files_of(folder) as port, opened(f"http://127.0.0.1:{port}") as page:
        page.choose("words")
        page.type("the session")
        page.settle()
        assert re.match(f"{name} is missing, or was altered", page.error())
        assert "`tfcopy web`" in page.error()
        for path, content in contents.items():
            path.write_bytes(content)
        page.type("the session")
        page.settle()
        assert page.answer() == "the session"


@pytest.fixture(scope="module")
def other_site(exports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("other") / "site"
    write_site.write_site([exports["characters"]], str(folder))
    return folder


@pytest.mark.parametrize(
    "headers",
    [{}, {"Cache-Control": "max-age=31536000, immutable"}],
    ids=["no headers", "immutable"],
)
@pytest.mark.parametrize("step", ["visit", "reload"])
def test_a_replaced_site_is_the_new_one(
    site, other_site, tmp_path, headers, step
):
    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))  # Old: caches keep it long.
    with files_of(folder, **headers) as port:
        address = f"http://127.0.0.1:{port}"
        with opened(address) as page:
            page.choose("words")
            page.type("the session")
            page.settle()
            shutil.rmtree(folder)
            shutil.copytree(other_site, folder)
            if step == "visit":
                page.get("about:blank")
                page.get(address)
            else:
                page.refresh()
            page.wait(lambda: page.texts("#model option") == ["characters"])
            page.choose("characters")
            page.type("the session is open")
            page.settle()
            assert page.answer() == "the session is open"


_FETCH = """
const [address, done] = arguments;
fetch(address, { headers: { Range: "bytes=0-2" } })
  .then(async (x) => [x.status, await x.text()])
  .then(done, (error) => done(String(error)));
"""
_KEPT = """
const [done] = arguments;
caches.keys()
  .then((x) => Promise.all(x.map(async (y) => (await caches.open(y)).keys())))
  .then((x) => done(x.flat().map((y) => new URL(y.url).pathname)));
"""


def test_other_files_of_the_origin_are_left_alone(site, tmp_path):
    folder = shutil.copytree(site, tmp_path / "site")
    (folder / "blog").mkdir()
    (folder / "blog" / "index.html").write_text("a blog")
    with files_of(folder) as port, opened(f"http://127.0.0.1:{port}") as page:
        is_kept = "return Boolean(navigator.serviceWorker.controller)"
        page.wait(lambda: page.execute_script(is_kept))
        page.refresh()
        page.choose("words")
        page.get(f"http://127.0.0.1:{port}/blog/")
        assert page.execute_script(is_kept)
        assert page.execute_async_script(_FETCH, "part") == [206, "par"]
        kept = page.execute_async_script(_KEPT)
        assert "/" in kept and not [x for x in kept if "blog" in x]
        assert {x.partition("-")[0] for x in kept} <= {"/", "/page", "/model"}


def test_a_storage_that_fails_keeps_nothing(site, tmp_path):
    folder = shutil.copytree(site, tmp_path / "site")
    worker = folder / "service_worker.js"
    full = "Cache.prototype.put = async () => { throw new Error('full') };\n"
    worker.write_text(full + worker.read_text())
    with files_of(folder) as port, opened(f"http://127.0.0.1:{port}") as page:
        is_kept = "return Boolean(navigator.serviceWorker.controller)"
        for _ in range(2):
            page.wait(lambda: page.execute_script(is_kept))
            page.choose("words")
            page.type("the session")
            page.settle()
            assert page.answer() == "the session"
            page.refresh()


@pytest.mark.parametrize("fault", ["file", "type", "changed"])
def test_a_page_that_cannot_start_tells_why(site, tmp_path, fault):
    folder = shutil.copytree(site, tmp_path / "site")
    if fault == "changed":
        with open(next(folder.glob("page-[0-9a-f]*/elements.js")), "a") as file:
            file.write("// changed")
    types = {".js": "text/plain"} if fault == "type" else {}
    with files_of(folder, types) as port:
        address = f"http://127.0.0.1:{port}/"
        if fault == "file":
            address = (folder / "index.html").as_uri()
        with opened(address) as page:
            page.wait(lambda: "This page has not started" in page.shown())


def test_a_policy_against_workers_is_told(site):
    policy = {"Content-Security-Policy": "worker-src 'none'"}
    with files_of(site, **policy) as port:
        with opened(f"http://127.0.0.1:{port}") as page:
            page.choose("words")
            page.type("the session")
            page.settle()
            assert "must allow it (worker-src)" in page.error()


def test_it_answers_without_a_connection(site):
    with contextlib.ExitStack() as stack, contextlib.ExitStack() as server:
        port = server.enter_context(files_of(site))
        page = stack.enter_context(opened(f"http://127.0.0.1:{port}/"))
        is_kept = "return Boolean(navigator.serviceWorker.controller)"
        page.wait(lambda: page.execute_script(is_kept))
        page.refresh()
        answers = []
        for _ in range(2):
            page.choose("words")
            page.type("the session")
            page.settle()
            answers.append(page.answer())
            server.close()
            page.refresh()
        assert answers == ["the session"] * 2


def test_two_tabs_answer_at_once(page):
    first = page.current_window_handle
    address = page.driver.current_url.partition("#")[0]
    page.get(address)
    page.switch_to.new_window("tab")
    page.get(address)
    second = page.current_window_handle
    for handle, text in ((first, "the session"), (second, "is open")):
        page.switch_to.window(handle)
        page.choose("words")
        page.type(text)
    for handle, text in ((first, "the session"), (second, "is open")):
        page.switch_to.window(handle)
        page.settle()
        assert page.answer() == text
    page.close()
    page.switch_to.window(first)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_windows_and_both_colour_schemes(page, scheme):
    set_color_scheme(page, scheme)
    page.set_window_size(400, 800)
    page.choose("words")
    page.type("the session of العربية is open , " + "x" * 90)
    page.settle()
    width = page.execute_script("return document.documentElement.scrollWidth")
    assert width <= page.execute_script("return window.innerWidth")
    colour = page.execute_script(
        "return getComputedStyle(document.body).backgroundColor"
    )
    assert (sum(map(int, colour[4:-1].split(","))) < 200) == (scheme == "dark")
    page.set_window_size(1280, 900)
    set_color_scheme(page, "light")
