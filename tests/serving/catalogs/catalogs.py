"""Catalogues and a model without TensorFlow that fills them."""

import re
import shutil
import subprocess
import time

import numpy as np
import pytest

from tests import beside
from tfcopy.data.corpora.catalog_lines import lines_of
from tfcopy.data.text.span_patterns import spans_of
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import Signature

HEADER, BODY, FILLED = beside.read(
    __file__, "header.po", "body.po", "filled.po"
)
HAS_MSGFMT = shutil.which("msgfmt") is not None


class ShoutingModel(ExportedModel):
    """Answers with capital letters and leaves spans of markup as they are.

    It loses those of a text with "forget", and reads 20 words.
    """

    name = "shouting"

    def __init__(self, seconds=0.0):
        self.config = {"max_source_length": 20, "target_language": "es"}
        outputs = ("text", "score", "source_tokens", "copied_from")
        self.signatures = {
            "serving_default": Signature({"text": 1}, outputs[:2]),
            "analyse": Signature({"text": 1}, outputs),
        }
        self.seconds = seconds
        self.asked = []

    def _ask_batch(self, signature, arrays):
        texts = [x.decode() for x in arrays["text"]]
        self.asked += texts
        terms = [x[0] for x in arrays.get("glossary", ())][:1]
        time.sleep(self.seconds)
        outputs = {
            "text": [self._said(x, terms).encode() for x in texts],
            "score": [-len(x) / 8 for x in texts],
        }
        if signature == "analyse":
            read = [x.encode().split()[:20] + [b"</s>", b""] for x in texts]
            outputs["source_tokens"] = read
            outputs["texts"] = [[x] for x in outputs["text"]]
            outputs["scores"] = [[x] for x in outputs["score"]]
            outputs["tokens"] = [[[]]] * len(texts)
            outputs["copied_from"] = np.zeros((len(texts), 1, 0), int)
        return outputs

    def _said(self, text, terms):
        return shouted(text, terms)


def shouted(text, terms=()):
    """Returns the model's answer to a text."""
    if text == "mute":
        return ""
    for span in spans_of(text, ("rst", "printf")):
        if "forget" in text:
            text = text.replace(span, "")
    shouted = text.upper()
    for span in spans_of(text, ("rst", "printf")):
        shouted = shouted.replace(span.upper(), span)
    for term in terms:
        phrase, said = term.decode().split("\t")
        shouted = shouted.replace(phrase.upper(), said)
    return shouted


class MangledWords(ShoutingModel):
    """Keeps what its export keeps, and loses all other signs.

    It tells what it keeps, as an export does.

    Args:
        protect: Names of spans.
        order: Function of the words of a text to those of the answer.
    """

    def __init__(self, protect=("rst", "printf", "brace"), order=list):
        super().__init__()
        self.config["max_source_length"] = 200
        self.config["source_tokenizer"] = {"protect": list(protect)}
        self.names = protect
        self.order = order

    def _said(self, text, terms):
        return self.answer(text)

    def answer(self, text):
        kept = spans_of(text, self.names)
        found = "|".join([*map(re.escape, kept), r"[\w.,!?]+| "])
        words = re.findall(found, text)
        words = [x if x in kept else x.upper() for x in words if x != " "]
        return " ".join(self.order(words))


def write(path, text):
    """Writes a catalogue with all its line ends; returns its path."""
    path.write_bytes(text.encode())
    return str(path)


def quoted(text):
    """A string as it stands in a catalogue."""
    return lines_of("", text, wrap=False)[0].strip()


def check_with_msgfmt(path):
    """Passes if gettext's own program takes the catalogue."""
    if HAS_MSGFMT:
        subprocess.run(
            ["msgfmt", "--check", "--output-file=/dev/null", path],
            check=True,
            capture_output=True,
        )


needs_msgfmt = pytest.mark.skipif(
    not HAS_MSGFMT, reason="gettext is not installed."
)


def many(count):
    """A catalogue of so many open entries."""
    return HEADER + "\n".join(
        f'msgid "entry {i} of ``x{i}``"\nmsgstr ""\n' for i in range(count)
    )
