"""The command, and the models that it finds."""

import contextlib
import functools
import gc
import json
import operator
import signal
import socket
import socketserver
import sys
import threading
import time
import urllib.error
import urllib.request
import weakref
from concurrent.futures import ThreadPoolExecutor

import libretranslatepy
import pytest

from tests.serving.http_server.capitals import Capitals, options_of
from tests.serving.http_server.process import Process
from tests.serving.servables.echo_model import serve as serve_tensorflow
from tests.serving.servables.translators import copier
from tfcopy.data import Tokenizer
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.runtime.exported_model import EvictableModel, ModelCache
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving import serve
from tfcopy.serving.http_server import (
    served_models,
    translation_api,
    translation_service,
)
from tfcopy.serving.http_server.served_models import (
    ModelLocation,
    load_all,
    locate,
    measure_max_tokens,
)
from tfcopy.serving.saved_model import export

SPACED = ProtectedTokenizer(Tokenizer("space"), ("html",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Exports of a copier that keeps spans, and of one without languages."""
    folder = tmp_path_factory.mktemp("savedmodels")
    model = copier(source_tokenizer=SPACED, target_tokenizer=SPACED)
    model = model.with_files(folder / "words")
    languages = {"source_language": "en", "target_language": "fr"}
    export(model, folder / "copier", warmup_texts=["a"], details=languages)
    return folder


def error(capsys, *arguments):
    """The line that the command ends with."""
    assert serve.main([str(x) for x in arguments]) == 2
    output, error = capsys.readouterr()
    assert error.startswith("serve: ") and error.count("\n") == 1
    assert not output
    return error


def test_errors_say_what_is_wrong(capsys, tmp_path, monkeypatch, without):
    model = tmp_path / "model"
    (model / "1").mkdir(parents=True)
    (model / "1" / "saved_model.pb").write_bytes(b"")
    assert "no such folder" in error(capsys, tmp_path / "none")
    assert "'': no such folder." in error(capsys, "")
    (tmp_path / "empty").mkdir()
    assert "no exported models in it" in error(capsys, tmp_path / "empty")
    line = error(capsys, model, "--protect", "(")
    assert "--protect: '(' is no regular expression" in line
    line = error(capsys, model, "--api_keys", tmp_path / "none")
    assert "--api_keys: cannot read" in line and "No such file" in line
    assert "--api_keys: cannot read" in error(capsys, model, "--api_keys", "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = error(capsys, model, "--port", port)
    assert f"--port: {port} is taken on 127.0.0.1" in line
    module = "tfcopy.serving.http_server.translation_api"
    monkeypatch.delitem(sys.modules, module, raising=False)
    without("limits")
    line = error(capsys, model)
    assert 'limits is not installed: pip install -e ".[serve]"' in line


def test_flags_of_loading_reach_the_models(capsys, monkeypatch):
    def opened(server, name, **options):
        told.update(options)
        model = Capitals()
        model.name, model.config = name, {}
        return model

    def service(models, *_):
        told.update(max_words=models["en", "fr"].max_words)
        raise ModelError("enough")

    def last(most, _):
        told.update(most_loaded=most)

    told = {}
    monkeypatch.setattr(Capitals, "translates", True)
    monkeypatch.setattr(served_models, "open_model", opened)
    monkeypatch.setattr(served_models, "ModelCache", last)
    monkeypatch.setattr(translation_service, "TranslationService", service)
    monkeypatch.setattr(
        translation_api, "TranslationApi", lambda load, *_: load()(None)
    )
    options = {"max_words": 9, "most_loaded": 2, "batch_size": 5, "at_once": 3}
    options["deadline"] = 7
    flags = [f"--{name}={value}" for name, value in options.items()]
    line = error(capsys, "en:fr=host:1/m", "--port=0", *flags)
    assert "enough" in line and options.items() <= told.items()


def test_places_are_folders_or_servers(tmp_path):
    for path in ("a/1", "a/2", "b/1"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "saved_model.pb").write_bytes(b"")
    root = str(tmp_path)
    folders = [f"{root}/a", f"{root}/b"]
    assert locate(root) == [(None, x, None) for x in folders]
    pair = ("en", "pt_BR")
    for place in (folders[0], f"{root}/a/2"):
        assert locate(f"en:pt_BR={place}") == [(None, place, pair)]
    server = "http://host:8501"
    assert locate(f"en:fr={server}/a/b") == [(f"{server}/a", "b", ("en", "fr"))]
    assert locate("en:fr=host:8500/b") == [("host:8500", "b", ("en", "fr"))]
    for text, message in (
        (f"{server}/b", f"as in en:fr={server}/b"),
        ("en:fr=host:8500/", "which model of the server.*/europarl_ps"),
        (f"en:fr={root}", "contains several models. Choose one: "),
        ("en:fr=", "no such folder"),
    ):
        with pytest.raises(ModelError, match=message):
            locate(text)


@pytest.mark.long
def test_models_are_served_by_their_languages(copier_export, copier_model):
    (place,) = locate(copier_export)
    told, options = [], options_of(batch_size=8, at_once=1)
    with pytest.raises(ModelError, match="no model that translates"):
        load_all([place], told.append, options)
    assert "languages unknown. Specify them as SOURCE:TARGET=" in told[0]
    named = place._replace(pair=("en", "pt_BR"))
    ((pair, found),) = load_all([named], told.append, options).items()
    assert pair == ("en", "pt-BR") and found.max_words == 20
    assert found.model.batch_size == 8 and not found.keeps_spans
    with pytest.raises(ModelError, match="both translate en:pt-BR"):
        load_all([named, named], told.append, options)
    # A server does not tell: it shows.
    assert measure_max_tokens(copier_model) == 20


def test_the_last_models_stay_in_memory(monkeypatch):
    alive = weakref.WeakSet()

    def opened(server, name, **options):
        model = Capitals()
        model.name, model.config = name, {"max_source_length": 9}
        model.reopen = functools.partial(opened, server, name)
        loaded.append(name)
        alive.add(model)
        return model

    loaded = []
    monkeypatch.setattr(served_models, "open_model", opened)
    monkeypatch.setattr(Capitals, "translates", True)
    places = [ModelLocation(None, x, ("en", x)) for x in ("de", "fr", "es")]
    models = load_all(places, print, options_of(most_loaded=2))
    assert loaded == ["de", "fr", "es"]
    for target in ("de", "fr", "de", "es", "de", "fr"):
        model = models["en", target].model
        answer = model.ask("serving_default", {"text": ["a"]})
        assert answer["text"] == [b"A"] and len(alive) <= 3
    assert loaded[3:] == ["de", "fr", "es", "fr"]
    gc.collect()
    assert len(alive) == 2
    assert load_all(places, print, options_of())["en", "fr"].model.name == "fr"
    assert len(load_all(places, print, options_of(most_loaded=10**30))) == 3


def test_a_model_that_loads_or_is_gone_holds_up_no_other():
    def opened(name):
        if name == "gone":
            raise ModelError("gone: no such folder.")
        if name == "slow":
            begun.set()
            assert may_load.wait(20)
        return Capitals()

    def ask(name):
        return models[name].ask("serving_default", {"text": ["a"]})["text"]

    begun, may_load = threading.Event(), threading.Event()
    last, models = ModelCache(2, operator.call), {}
    for name in ("fast", "slow", "gone"):
        model = Capitals()
        model.reopen = functools.partial(opened, name)
        models[name] = EvictableModel(model, last)
    assert ask("fast") == [b"A"]
    with ThreadPoolExecutor() as threads:
        slow = threads.submit(ask, "slow")
        assert begun.wait(20)
        assert ask("fast") == [b"A"] and not slow.done()
        may_load.set()
        assert slow.result(20) == [b"A"]
    # Its batch is not tried again, text by text.
    with pytest.raises(ModelError, match="^gone: no such folder.$"):
        ask("gone")
    assert ask("fast") == ask("slow") == [b"A"]


@pytest.mark.slow
def test_the_command_serves_until_it_is_stopped(folder):
    with Process(folder) as server:
        assert server.line.startswith("Serving en:fr at http://127.0.0.1:")
        text = "a <b> %(n)s </b> [X2X] & Łukasz"
        answer = server.translate(text, protect=["printf"])
        assert answer == {"translatedText": text}
        text = "<p>a <b>Łukasz  b</b>, c&nbsp;d.</p>\n<pre>x</pre>"
        answer = server.translate(
            text, format="html", glossary={"c": "the term"}
        )["translatedText"]
        said = text.replace("c&", "the term&").replace("  ", " ")
        assert answer.replace(" ", "") == said.replace(" ", "")
        client = libretranslatepy.LibreTranslateAPI(server.url)
        assert client.translate("a & b\nc", "en", "fr") == "a & b\nc"
        assert {x["code"] for x in client.languages()} == {"en", "fr"}
        assert client.detect("This is a sentence.")[0]["language"] == "en"
        with pytest.raises(urllib.error.HTTPError, match="400"):
            client.translate("a", "xx", "fr")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.communicate(timeout=60) == ("", "")
        assert server.process.returncode == 0


class Relay(socketserver.ThreadingTCPServer):
    """A way to another server that may close, or swallow, what is sent."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address):
        self.mode = "pass"
        self._target = address.rpartition("/")[2].split(":")
        super().__init__(("127.0.0.1", 0), None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        if self.mode == "swallow":
            time.sleep(60)
        elif self.mode == "close":
            request.recv(1 << 16)
        else:
            host, port = self._target
            with socket.create_connection((host, int(port))) as other:
                threading.Thread(target=_copy, args=[request, other]).start()
                _copy(other, request)


def _copy(source, sink):
    with contextlib.suppress(OSError):
        while part := source.recv(1 << 16):
            sink.sendall(part)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["close", "swallow"])
def test_a_model_of_a_server_is_served_whenever_it_is_there(folder, fault):
    remote = serve_tensorflow(LocalModel(folder / "copier"))
    relay = Relay(remote.address)
    address = "http://127.0.0.1:%d/echo" % relay.server_address[1]
    options = ("--deadline", 3, "--grace", 2)
    with Process(f"en:fr={address}", *options) as server:
        for mode in ("pass", fault, "pass", fault):
            relay.mode = mode
            if mode == "pass":
                answer = {"translatedText": "a <b> c"}
                assert server.translate("a <b> c") == answer
                continue
            for _ in range(3):
                begin = time.monotonic()
                with pytest.raises(urllib.error.HTTPError) as refused:
                    server.translate("a")
                assert refused.value.code == 503
                assert json.load(refused.value)["error"] in (
                    "The model cannot be reached",
                    "No answer within 3 s; ask for less at once, or later",
                )
                assert time.monotonic() - begin < 6
            assert urllib.request.urlopen(f"{server.url}/health").status == 200
        thread = threading.Thread(target=_asked, args=[server])
        thread.start()
        time.sleep(0.5)
        begin = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        _, error = server.process.communicate(timeout=20)
        assert time.monotonic() - begin < 3
        assert server.process.returncode == 0
        assert "Traceback" not in error
        thread.join()
    relay.shutdown()
    relay.server_close()
    remote.stop()


def _asked(server):
    with contextlib.suppress(OSError):
        server.translate("a")


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_ends_the_command(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").write_bytes(b"oops")
    with Process(tmp_path) as server:
        output, error = server.process.communicate(timeout=60)
        assert server.process.returncode == 2
        assert error.startswith(f"serve: {tmp_path}/1: cannot be loaded")
        assert error.count("\n") == 1 and not output


@pytest.mark.slow
def test_who_may_ask_is_told(folder):
    with Process(folder, "--host", "0.0.0.0") as server:
        assert server.translate("a") == {"translatedText": "a"}
        server.process.send_signal(signal.SIGTERM)
        _, error = server.process.communicate(timeout=60)
    assert error.startswith("serve: any client that reaches 0.0.0.0 may send ")
