"""What `tfcopy serve` does for others while some clients load it.

    python -m benchmarks.serve_under_load savedmodels/pydocs_ps

For each load, a server with 1,024 files is started on the loopback. Eight
clients ask it for short texts; meanwhile come, again and again,

    nested      seven requests of 35,000 characters of nested tags
    silent      1,100 connections that send nothing, or half a request
    glossaries  four requests with a glossary of 100,000 characters
    attack      what `benchmarks.serve --attack` sends

Then SIGTERM, with the load still on. Prints the others' waits, how often the
load was answered with which status, the server's peak memory, the seconds
until it has ended, and the lines of its standard error. The exit status is 1 if
another client got no right answer, or the end did not come within `--grace`.
"""

import collections
import contextlib
import json
import pathlib
import resource
import socket
import sys
import tempfile
import threading
import time

import numpy as np

from benchmarks import flags, serve

_FILES, _SILENT = 1024, 1100
_HALF = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"


def _body(server, **fields):
    pair = {"source": server.source, "target": server.target}
    return json.dumps({**pair, **fields}).encode()


def nested(server):
    tags = 5_000
    text = "<b>" * tags + "a" + "</b>" * tags
    return 7, _body(server, q=text, format="html")


def glossaries(server):
    terms = {f"word {i:05}": "x" * 85 for i in range(1000)}
    return 4, _body(server, q="a word 00001 b", glossary=terms)


def _post(server, body, told, ended):
    headers = {"Content-Type": "application/json"}
    while not ended.is_set():
        try:
            connection = server.connect()
            connection.request("POST", "/translate", body, headers)
            response = connection.getresponse()
            response.read()
            told[str(response.status)] += 1
            connection.close()
        except OSError as error:
            told[type(error).__name__] += 1
            time.sleep(0.1)


def _stay_silent(server, told, ended):
    opened = []
    for i in range(_SILENT):
        address = "127.0.0.1", server.port
        with contextlib.suppress(OSError):
            opened.append(socket.create_connection(address, timeout=10))
            opened[-1].sendall((b"", b"PO", _HALF, _HALF + b"\r\n{")[i % 4])
            told["opened"] += 1
    ended.wait()
    for connection in opened:
        connection.close()


def loading(name, server, told, ended):
    """The threads of a load, started."""
    if name == "silent":
        targets = [(_stay_silent, (server, told, ended))]
    elif name == "attack":
        end = time.monotonic() + 3600

        def attack():
            with contextlib.suppress(OSError, ValueError):
                serve.attack(server, end, told)

        targets = [(attack, ())] * 2
    else:
        count, body = {"nested": nested, "glossaries": glossaries}[name](server)
        targets = [(_post, (server, body, told, ended))] * count
    threads = []
    for target, arguments in targets:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        threads.append(thread)
    return threads


def memory(server):
    """The most megabytes that the server has had."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measured(name, place, texts, options):
    """Runs one load; prints what came. Returns whether that is right."""
    with tempfile.TemporaryFile() as errors:
        server = serve.Server(
            place, f"--grace={options.grace}", files=_FILES, stderr=errors
        )
        alone = serve.clients(server, texts, 8, options.seconds / 2)
        right = {text: answer for _, _, text, answer in alone}
        told, ended = collections.Counter(), threading.Event()
        loading(name, server, told, ended)
        time.sleep(1)
        found = serve.clients(server, texts, 8, options.seconds)
        megabytes = memory(server)
        begin = time.monotonic()
        server.process.terminate()
        status = server.process.wait(60)
        seconds = time.monotonic() - begin
        ended.set()
        errors.seek(0)
        lines = errors.read().decode().splitlines()
    wrong = sum((s, a) != (200, right.get(t, a)) for _, s, t, a in found)
    for what, times in (("alone", alone), (name, found)):
        waits = np.array([x for x, *_ in times])
        p50, p99 = np.percentile(waits, [50, 99])
        print(
            f"{what:11} {len(waits):6} answers to others, p50 {p50:.3f} s, "
            f"p99 {p99:.3f} s, most {waits.max():.3f} s"
        )
    print(
        f"{'':11} {wrong} wrong; load: {dict(told)}; peak {megabytes:.0f} MB; "
        f"SIGTERM: status {status} after {seconds:.1f} s; {len(lines)} lines "
        f"of errors {lines[:2]}",
        flush=True,
    )
    return not wrong and status == 0 and seconds <= options.grace + 0.5


def main(arguments=None):
    parser = flags.make_parser(
        __doc__, ("seconds", 20, "of a load"), ("grace", 5, "seconds to end in")
    )
    names = ["nested", "silent", "glossaries", "attack"]
    parser.add_argument("model", help="exported folder of a translator")
    parser.add_argument("--loads", nargs="+", choices=names, default=names)
    options = parser.parse_args(arguments)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    texts = [f"This is sentence {i} of some." for i in range(40)]
    done = []
    for name in options.loads:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4 * _FILES, most))
        done.append(measured(name, options.model, texts, options))
    return int(not all(done))


if __name__ == "__main__":
    sys.exit(main())
