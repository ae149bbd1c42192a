"""Asks a server: a line of text in, a line of text out.

By REST it needs neither TensorFlow nor gRPC; by gRPC the extra `client`.
"""

import dataclasses
import sys

from tfcopy.flags import Parser
from tfcopy.serving.client_library import answer_lines, ask_texts, commands
from tfcopy.serving.client_library.exported_model import open_model
from tfcopy.serving.client_library.remote_model import Connection

_DESCRIPTION = """\
Reads lines of text from standard input and answers each with one line, in
order, as `python -m tfcopy.serving.ask` does, by asking TensorFlow Serving.

ADDRESS is host:port (or grpc://host:port) for gRPC, http://host:port or
https://host:port for REST. MODEL is the name that the server gives the model.
gRPC needs `pip install 'tfcopy[client]'`; REST needs nothing else."""

_EXAMPLES = """\
examples:
  echo "Mr Łukasz has the floor." | %(prog)s localhost:8500 europarl_ps
  %(prog)s http://localhost:8501 europarl_ps --n_best 3 < input.en
  %(prog)s localhost:8500 europarl_ps --json --version 2 < input.en | head -1
  %(prog)s host:443 europarl_ps --tls --root_certificate ca.pem < input.en
  echo '{"premise": "A wug sat.", "hypothesis": "A bird sat."}' |
    %(prog)s http://localhost:8501 snli_definitions --dictionary my.tsv
  %(prog)s http://localhost:8501 europarl_ps --status

--status prints the versions of the model and their states (START, LOADING,
AVAILABLE, UNLOADING or END), with the error message if there is one.

Requests that find no server, or one that is not ready, are retried after about
0.2, 0.4, 0.8... seconds until --retries or --deadline is exhausted. Other
errors end the command. Its exit status is 0, or 2 after an error, which is one
line on standard error.

"""


@dataclasses.dataclass(kw_only=True)
class Options(answer_lines.AnswerOptions, commands.ConnectionOptions):
    """Whom to ask.

    Attributes:
        address: address of the server, such as host:8500
        model: name of the model
        status: print the model's versions and exit
    """

    positional = {"address": "ADDRESS", "model": "MODEL"}

    address: str
    model: str
    status: bool = False


def main(arguments=None):
    """Returns the exit status."""
    epilog = _EXAMPLES + answer_lines.FORMS
    options = Parser(Options, _DESCRIPTION, epilog).parse(arguments)
    return commands.run(
        "client", lambda: (_status if options.status else _answer)(options)
    )


def _answer(options):
    with open_model(options, options.address) as model:
        answer_lines.answer(model, options)


def _status(options):
    connection = Connection(
        options.address, options.model, **commands.connection_options(options)
    )
    for version in connection.status():
        answer = ask_texts.to_json(version._asdict())
        if not options.json:
            fields = version.version, version.state, version.message
            shown = (ask_texts.to_line(str(x)) for x in fields if x != "")
            answer = b"\t".join(shown)
        commands.write(answer + b"\n")


if __name__ == "__main__":
    sys.exit(main())
