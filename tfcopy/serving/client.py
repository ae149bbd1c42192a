"""The command `client`, an alias of `ask` with ADDRESS and MODEL apart."""

import dataclasses
import functools

from tfcopy.flags import flag
from tfcopy.runtime import commands
from tfcopy.serving import ask


@dataclasses.dataclass(kw_only=True)
class Options(ask.Options):
    """Flags of `client`, which are those of `ask`."""

    positional = {"server": "ADDRESS", "model": "MODEL"}

    server: str | None = flag(None, "address of the server, such as host:8500")


main = functools.partial(ask.main, program="client", kind=Options)

if __name__ == "__main__":
    commands.start(main)
