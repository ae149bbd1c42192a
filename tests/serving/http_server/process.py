"""`tfcopy serve` as a process."""

import json
import pathlib
import subprocess
import sys
import urllib.request

ROOT = pathlib.Path(__file__).parents[3]


class Process:
    """The command, serving; its address, and what it said."""

    def __init__(self, *arguments, module="tfcopy.serving.serve", files=None):
        limit = f"ulimit -n {files}; " if files else ""
        command = [sys.executable, "-m", module, "--port=0", *arguments]
        self.process = subprocess.Popen(
            [
                *("bash", "-c", f'{limit}exec "$@"', "bash"),
                *(str(x) for x in command),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,  # Some modules are those of tests.
        )

    def __enter__(self):
        assert self.process.stdout.readline().startswith("Loading ")
        self.line = self.process.stdout.readline()
        self.url = self.line.split()[3] if self.line else ""
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def translate(self, q, **more):
        body = {"q": q, "source": "en", "target": "fr", **more}
        request = urllib.request.Request(
            f"{self.url}/translate",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
