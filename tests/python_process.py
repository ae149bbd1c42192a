"""Programs that tests run in a Python process of their own."""

import subprocess
import sys


def run_python(*arguments, **options):
    """Returns the process, which has ended, with its outputs as text.

    Args:
        *arguments: Of Python, such as `"-c"` and a program.
        **options: Of `subprocess.run`.
    """
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, **options)
