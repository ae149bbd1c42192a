"""How many clients at once `tfcopy serve` answers, and how soon.

    python -m benchmarks.serve savedmodels/europarl_ps

Starts the server of a model on the loopback. Clients, each with a connection
of its own, ask for one text after the other, random words of the model's
vocabulary; then the same texts are piped through `tfcopy ask`. Prints texts a
second of both, and the median and the 99th percentile of the seconds that a
client waits. `--attack` asks meanwhile what no client should: bodies of ten
megabytes, broken JSON, sockets that are closed halfway; and counts what it is
told. The exit status is 1 if an answer is wrong: another than that of `ask`, or
an error that is no line of 4xx.
"""

import collections
import http.client
import itertools
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time

import numpy as np

from benchmarks import flags
from benchmarks.serving_latency import TEXTS, read_texts
from tfcopy.runtime.versions import find_version

_TIMEOUT = 60
# Lines that `ask` is given, so that loading is a small part of its time.
_MANY = 3_000


class Server:
    """`tfcopy serve`, on a port of its own, with at most so many files."""

    def __init__(self, place, *flags, files=None, stderr=None):
        limit = f"ulimit -n {files} && " if files else ""
        self.process = subprocess.Popen(
            [
                *("bash", "-c", f'{limit}exec "$@"', "bash"),
                sys.executable,
                "-m",
                "tfcopy",
                "serve",
                place,
                "--port=0",
                *flags,
            ],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        for line in self.process.stdout:
            if line.startswith("Serving "):
                break
        else:
            sys.exit(1)
        self.source, self.target = line.split()[1].split(":")
        self.port = int(line.split()[3].rpartition(":")[2])

    def connect(self):
        return http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=_TIMEOUT
        )

    def stop(self):
        """Seconds until it has ended."""
        begin = time.monotonic()
        self.process.terminate()
        if self.process.wait(_TIMEOUT):
            sys.exit("the server did not end well")
        return time.monotonic() - begin


def ask(connection, server, text):
    """Status and answer of a text."""
    body = {"q": text, "source": server.source, "target": server.target}
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/translate", json.dumps(body), headers)
    response = connection.getresponse()
    message = json.loads(response.read())
    return response.status, message.get("translatedText", message)


def clients(server, texts, count, seconds):
    """Seconds and answers of all requests of so many clients at once."""
    end, found, lock = time.monotonic() + seconds, [], threading.Lock()

    def work(number):
        mine = []
        connection = server.connect()
        order = random.Random(number).sample(texts, len(texts))
        for text in itertools.cycle(order):
            begin = time.monotonic()
            if begin > end:
                break
            status, answer = ask(connection, server, text)
            mine.append((time.monotonic() - begin, status, text, answer))
        with lock:
            found.extend(mine)

    threads = [threading.Thread(target=work, args=[i]) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def attacks(server):
    """What may be sent to the server, by name: bytes after the headers."""
    good = json.dumps({"q": "a", "source": "en", "target": "xx"}).encode()
    return {
        "ten megabytes": b"q=" + b"a" * 10_000_000,
        "bad JSON": b'{"q": "a',
        "deep JSON": b"[" * 100_000,
        "a wrong type": b'{"q": 1, "source": "en", "target": "fr"}',
        "an unknown language": good,
        "half a character": good.replace(b'"a"', b'"\\ud800"'),
        "no UTF-8": b'{"q": "\xff"}',
        "nothing": b"",
    }


def attack(server, end, told):
    """Sends all of them in turn, and closes some sockets halfway."""
    bodies = attacks(server)
    for number, name in enumerate(itertools.cycle(bodies)):
        if time.monotonic() > end:
            return
        body = bodies[name]
        if number % 3 == 2:
            with socket.create_connection(("127.0.0.1", server.port)) as half:
                head = "POST /translate HTTP/1.1\r\nHost: localhost\r\n"
                head += f"Content-Length: {len(body) + 9}\r\n\r\n"
                half.sendall(head.encode() + body[:100_000])
            told["closed"] += 1
            continue
        connection = server.connect()
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/translate", body, headers)
        response = connection.getresponse()
        message = response.read().decode()
        connection.close()
        is_line = set(json.loads(message)) == {"error"}
        is_line &= len(message.splitlines()) == 1
        fits = 400 <= response.status < 500 and is_line
        told[f"{name}: {response.status if fits else message}"] += 1
        told["wrong"] += not fits


def asked(model, texts):
    """What `tfcopy ask` answers to each text, and its seconds."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tfcopy", "ask", model],
        input="\n".join(texts),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(zip(texts, done.stdout.split("\n"))), (time.monotonic() - begin)


def main(arguments=None):
    parser = flags.make_parser(
        __doc__,
        *TEXTS,
        ("clients", 64, "at once"),
        ("seconds", 60, "that they ask"),
        ("attack", False, "see above"),
    )
    parser.add_argument("model", help="exported folder of a translator")
    arguments, others = parser.parse_known_args(arguments)
    texts = read_texts(find_version(arguments.model), arguments)
    texts = (" ".join(x.decode().split()) for x in texts)
    # What has no letters is not asked.
    texts = [x for x in dict.fromkeys(texts) if re.search(r"[^\W\d_]", x)]
    lines = list(itertools.islice(itertools.cycle(texts), _MANY))
    right, whole = asked(arguments.model, lines)
    _, loading = asked(arguments.model, texts[:1])
    rate = len(lines) / (whole - loading)
    print(f"ask: {rate:.1f} texts a second, without {loading:.1f} s of loading")
    server = Server(arguments.model, *others)
    told, attackers = collections.Counter(), []
    if arguments.attack:
        end = time.monotonic() + arguments.seconds
        for _ in range(2):
            thread = threading.Thread(target=attack, args=[server, end, told])
            thread.start()
            attackers.append(thread)
    begin = time.monotonic()
    found = clients(server, texts, arguments.clients, arguments.seconds)
    seconds = time.monotonic() - begin
    for thread in attackers:
        thread.join()
    waited = np.array([x for x, *_ in found])
    wrong = [
        (text, answer)
        for _, status, text, answer in found
        if (status, answer) != (200, right[text])
    ]
    p50, p99 = np.percentile(waited, [50, 99])
    print(
        f"serve, {arguments.clients} clients: {len(found) / seconds:.1f} texts "
        f"a second; p50 {p50:.3f} s, p99 {p99:.3f} s, most {waited.max():.3f} s"
    )
    print(f"{len(wrong)} of {len(found)} answers are not those of ask")
    for text, answer in wrong[:3]:
        print(f"  {text!r}: {answer!r}, not {right[text]!r}")
    bad = told.pop("wrong", 0)
    for name, count in sorted(told.items()):
        print(f"  {count:6} {name}")
    print(f"stopped in {server.stop():.1f} s")
    return int(bool(wrong) or bad > 0)


if __name__ == "__main__":
    sys.exit(main())
