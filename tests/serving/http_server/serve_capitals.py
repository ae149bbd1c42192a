"""`tfcopy serve` of a model that is a function, as a process of its own.

A text with "sleep" takes the model a minute.
"""

import sys
import time

from tests.serving.http_server.capitals import Capitals
from tfcopy.serving import serve
from tfcopy.serving.http_server import served_models


class Model(Capitals):
    at_once = 2

    def _said(self, text):
        if "sleep" in text:
            time.sleep(60)
        return super()._said(text)


def load_all(places, on_skip, options):
    pair = "en", "fr"
    return {pair: served_models.LoadedModel(Model(), pair, Model.max_words)}


if __name__ == "__main__":
    served_models.locate = lambda text: []
    served_models.load_all = load_all
    sys.exit(serve.main(["capitals", *sys.argv[1:]]))
