"""Asks a SavedModel: a line of text in, a line of text out.

It needs only TensorFlow, not the code that trained the model, and TensorFlow
Text if the model cuts words into pieces.
"""

import dataclasses

from tfcopy.flags import Parser
from tfcopy.serving.client_library import answer_lines, commands
from tfcopy.serving.client_library.exported_model import open_model

_DESCRIPTION = """\
Reads lines of text from standard input and answers each with one line, in
order. A model that translates answers an empty line with an empty one; if it
copies, unknown words come back exactly as they were typed. A language model
answers with likely next words. A model that reads several texts takes one JSON
object per line, with the texts by name, and answers with a text or a label.

MODEL is what a recipe exports: a folder of numbered versions, the highest of
which is asked, or the folder of one version."""

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

"""


@dataclasses.dataclass(kw_only=True)
class Options(answer_lines.AnswerOptions, commands.LoadingOptions):
    """Whom to ask.

    Attributes:
        model: exported folder
        version: version to ask (default: the highest)
    """

    positional = {"model": "MODEL"}

    model: str
    version: int | None = None


def main(arguments=None):
    """Returns the exit status."""
    epilog = _EXAMPLES + answer_lines.FORMS
    options = Parser(Options, _DESCRIPTION, epilog).parse(arguments)

    def work():
        answer_lines.answer(open_model(options), options)

    return commands.run("ask", work)


if __name__ == "__main__":
    commands.start(main)
