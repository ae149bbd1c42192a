"""A client of the API of models that are functions."""

import contextlib
import threading
import time

import numpy as np
from starlette.testclient import TestClient

from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import Signature
from tfcopy.serving.http_server import translation_api
from tfcopy.serving.http_server.served_models import LoadedModel
from tfcopy.serving.http_server.translation_service import TranslationService
from tfcopy.serving.serve import Options


class Capitals(ExportedModel):
    """Says a text in capitals, or what a glossary says; two more answers."""

    name = "capitals"
    config = {}
    failure = None
    max_words = 200

    def __init__(self, reads_terms=True):
        names = ["serving_default", "analyse"]
        names += ["with_glossary"] * reads_terms
        self.signatures = {x: Signature({"text": 1}, ()) for x in names}
        if reads_terms:
            inputs = {"text": 1, "glossary": 2}
            self.signatures["with_glossary"] = Signature(inputs, ())
        self.asked = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def _ask_batch(self, signature, arrays):
        self.asked.append((signature, arrays))
        self.may_answer.wait(20)
        if self.failure is not None:
            raise self.failure
        asked = [x.decode() for x in arrays["text"]]
        texts = list(map(self._said, asked))
        if signature == "with_glossary":
            texts = map(self._with_terms, asked, arrays["glossary"])
        texts = [x.encode() for x in texts]
        answers = {"text": texts, "score": np.zeros(len(texts))}
        if signature == "analyse":
            words = [x.split()[: self.max_words] for x in texts]
            answers["texts"] = [[x, x + b"!", b""] for x in texts]
            answers["scores"] = np.array([[-1.0, -2.0, -1e9]] * len(texts))
            answers["source_tokens"] = [[*x, b"</s>"] for x in words]
            answers["tokens"] = [[[]] * 3] * len(texts)
            answers["copied_from"] = np.zeros((len(texts), 3, 0), int)
        return answers

    def _said(self, text):
        return text.upper()

    def _with_terms(self, text, lines):
        said = text.upper()
        for line in filter(None, lines):
            phrase, translation = line.decode().split("\t")
            said = said.replace(phrase.upper(), translation)
        return said


def options_of(**options):
    """The options of a server of short requests."""
    limits = {"char_limit": 1000, "batch_limit": 5, "deadline": 10}
    batching = {"batch_size": 8, "batch_timeout": 0, "queue_size": 20}
    return Options(places=[], **limits | batching | options)


@contextlib.contextmanager
def served(models, *, access=None, load=None, **options):
    """A client of a server of models, by their languages."""

    def made(metrics):
        return TranslationService(
            {x: LoadedModel(y, x, y.max_words) for x, y in models.items()},
            metrics,
            options_of(**options),
            told.append,
        )

    told, failures = [], []
    api = translation_api.TranslationApi(
        load or (lambda: made),
        access or translation_api.Access(None, None),
        failures.append,
    )
    app = translation_api.ApiGuard(api, ["testserver"], 20_000)
    with TestClient(app, raise_server_exceptions=False) as client:
        client.told, client.failures = told, failures
        while load is None and client.get("/health").status_code != 200:
            assert not failures
            time.sleep(0.01)
        yield client


def translate(client, q, source="en", target="fr", **more):
    """Status and message of an answer."""
    body = {"q": q, "source": source, "target": target, **more}
    answer = client.post("/translate", json=body)
    return answer.status_code, answer.json()
