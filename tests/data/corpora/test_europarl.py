import functools
import http.server
import io
import tarfile
import threading
from pathlib import Path

import pytest

from tests.data.real_corpora import real
from tfcopy.data.corpora import europarl
from tfcopy.data.corpora.corpus import CorpusError

TEXTS = {
    "europarl-v7.fr-en.en": "".join(f"sentence {i}\n" for i in range(50)),
    "europarl-v7.fr-en.fr": "".join(f"phrase {i}\n" for i in range(50)),
}


def make_archive(path, prefix="", texts=TEXTS):
    with tarfile.open(path, "w:gz") as tar:
        for name, text in texts.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))


def pairs(corpus):
    return {pair for split in corpus.splits.values() for pair in split}


EXPECTED = {(f"sentence {i}", f"phrase {i}") for i in range(50)}


def test_reads_the_two_files(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    corpus = europarl.load(tmp_path)
    assert pairs(corpus) == EXPECTED
    reverse = europarl.load(
        tmp_path, source_language="fr", target_language="en"
    )
    assert pairs(reverse) == {pair[::-1] for pair in EXPECTED}
    assert corpus.fingerprint != reverse.fingerprint


@pytest.mark.parametrize("prefix", ["", "./", "training/"])
def test_unpacks_the_archive_once(tmp_path, prefix):
    archive = tmp_path / "fr-en.tgz"
    make_archive(archive, prefix)
    assert pairs(europarl.load(tmp_path)) == EXPECTED
    archive.unlink()
    assert pairs(europarl.load(tmp_path)) == EXPECTED
    assert not list(tmp_path.glob("*.part"))


def test_newstest_files_become_validation_and_test(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    for year, text in ((2010, "dev\n"), (2011, "test\n")):
        for language in ("en", "fr"):
            (tmp_path / f"newstest{year}.{language}").write_text(text)
    corpus = europarl.load(tmp_path)
    assert list(corpus.validation) == [("dev", "dev")]
    assert list(corpus.test) == [("test", "test")]
    assert corpus.train.num_pairs == 50


def test_other_language_pairs(tmp_path):
    for language in ("en", "cs"):
        path = tmp_path / f"europarl-v7.cs-en.{language}"
        path.write_text("".join(f"{language} {i}\n" for i in range(9)))
    corpus = europarl.load(tmp_path, source_language="cs", target_language="en")
    assert ("cs 3", "en 3") in pairs(corpus)
    for languages in (("en", "en"), ("de", "fr"), ("en", "tlh")):
        with pytest.raises(CorpusError, match="pairs English"):
            europarl.load(
                tmp_path,
                source_language=languages[0],
                target_language=languages[1],
            )


# === Bad archives, and none ===


def test_nothing_there_names_the_files_and_the_flag(tmp_path):
    with pytest.raises(CorpusError) as caught:
        europarl.load(tmp_path / "absent")
    for part in (*TEXTS, "fr-en.tgz", "--data_dir", "statmt.org"):
        assert part in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_archive_cut_off(tmp_path, share):
    archive = tmp_path / "fr-en.tgz"
    texts = {
        name: "".join(str(hash(str(i))) + "\n" for i in range(5000))
        for name in TEXTS
    }
    make_archive(archive, texts=texts)
    content = archive.read_bytes()
    archive.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CorpusError, match="fr-en.tgz.*damaged or cut off"):
        europarl.load(tmp_path)
    assert not list(tmp_path.glob("*.part"))
    assert len(list(tmp_path.glob("europarl*"))) < 2


def test_archive_without_the_files(tmp_path):
    make_archive(tmp_path / "fr-en.tgz", texts={"other": "text"})
    with pytest.raises(CorpusError, match="does not hold europarl-v7.fr-en.en"):
        europarl.load(tmp_path)


def test_archive_with_another_checksum(tmp_path):
    archive = tmp_path / "fr-en.tgz"
    make_archive(archive)
    (tmp_path / "fr-en.tgz.sha256").write_text(f"{'0' * 64}  fr-en.tgz\n")
    with pytest.raises(CorpusError, match="SHA-256"):
        europarl.load(tmp_path)
    archive.rename(tmp_path / "training-parallel-europarl-v7.tgz")
    with pytest.raises(CorpusError, match="expected 0224c7c7"):
        europarl.load(tmp_path)


# === Downloading, from a server on this machine ===


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, and the rest of a file, as statmt.org does."""

    def do_GET(self):
        content = Path(self.translate_path(self.path)).read_bytes()
        start = self.headers.get("Range", "bytes=0-")[6:-1]
        start = int(start)
        if start >= len(content):
            self.send_response(416)
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.server.sent.append(len(content) - start)
        self.wfile.write(content[start:])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    (tmp_path / "www").mkdir()
    make_archive(tmp_path / "www" / "fr-en.tgz")
    handler = functools.partial(Handler, directory=tmp_path / "www")
    server = http.server.HTTPServer(("127.0.0.1", 0), handler)
    server.sent = []
    monkeypatch.setenv("no_proxy", "*")
    url = f"http://127.0.0.1:{server.server_port}/{{other}}-en.tgz"
    monkeypatch.setattr(europarl, "URL", url)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("already", [0, 10, 10**9])
def test_download_goes_on_where_it_stopped(tmp_path, server, already):
    content = (tmp_path / "www" / "fr-en.tgz").read_bytes()
    folder = tmp_path / "data"
    folder.mkdir()
    if already:
        (folder / "fr-en.tgz.part").write_bytes(content[:already])
    assert pairs(europarl.load(folder, download=True)) == EXPECTED
    rest = len(content) - already
    assert server.sent == [rest if rest > 0 else len(content)]
    assert (folder / "fr-en.tgz").read_bytes() == content
    assert (folder / "fr-en.tgz.sha256").exists()
    assert not list(folder.glob("*.part"))


def test_no_network_names_the_flag(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(europarl, "URL", "http://127.0.0.1:9/{other}-en.tgz")
    with pytest.raises(CorpusError) as caught:
        europarl.load(tmp_path, download=True)
    for part in ("127.0.0.1:9/fr-en.tgz", "refused", "--data_dir"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_reads_the_published_text():
    corpus = europarl.load(*real("europarl"))
    splits = [corpus.train, corpus.validation, corpus.test]
    assert [len(list(split)) for split in splits] == [
        split.num_pairs for split in splits
    ]
    assert sum(split.num_pairs for split in splits) == 2994
    assert corpus.train.num_skipped == 6
    first = next(iter(corpus.train))
    assert first == ("Resumption of the session", "Reprise de la session")
