"""Reads lines of text from standard input and answers each with one line.

A model that translates answers an empty line with an empty one; if it copies,
unknown words come back exactly as they were typed. A language model answers
with likely next words. A model that reads several texts takes one JSON object
per line, with the texts by name, and answers with a text or a label. Answers
are in the order of the lines.

MODEL is what a recipe exports: a folder of numbered versions, the highest of
which is asked, or the folder of one version. Or it is ADDRESS/MODEL, a model of
TensorFlow Serving and its name there: ADDRESS is that of its REST port, as
host:port, http://host:port or https://host:port.
"""

import dataclasses

from tfcopy import terminal
from tfcopy.flags import Parser
from tfcopy.runtime import answer_lines
from tfcopy.runtime.loading import ModelOptions

_EXAMPLES = """\
examples:
  echo "Mr Łukasz has the floor." | %(prog)s savedmodels/europarl_ps
  %(prog)s savedmodels/europarl_ps < input.en > output.fr
  %(prog)s savedmodels/europarl_ps --n_best 3 < input.en
  %(prog)s savedmodels/europarl_ps --json < input.en | head -1
  echo '{"context": "The wug sat down.", "question": "Who sat?"}' |
    %(prog)s savedmodels/squad_definitions --dictionary my.tsv
  echo '{"premise": "A wug sat.", "hypothesis": "A bird sat."}' |
    %(prog)s savedmodels/snli_definitions --json
  echo "The wug sat" | %(prog)s savedmodels/lm1b_definitions
  %(prog)s localhost:8501/europarl_ps --version 2 < input.en
  SSL_CERT_FILE=ca.pem %(prog)s https://host/europarl_ps < input.en

Requests that find no server, or one that is not ready, are retried after about
0.2, 0.4, 0.8... seconds until --retries or --deadline is exhausted. Other
errors end the command with one line on standard error. Its exit status is then
2, or 1 after a failure such as a full disk.

"""


@dataclasses.dataclass(kw_only=True)
class Options(answer_lines.AnswerOptions, ModelOptions):
    """Flags of `ask`: the model, and the form of its answers."""


def main(arguments=None):
    """Runs the command, and returns its exit status."""
    epilog = _EXAMPLES + answer_lines.FORMS
    options = Parser(Options, __doc__, epilog).parse(arguments)
    return terminal.run("ask", lambda: _answer(options))


def _answer(options):
    with options.open() as model:
        answer_lines.answer(model, options)


if __name__ == "__main__":
    terminal.start(main)
