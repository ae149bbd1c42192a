"""Measures what the project promises; each module is a command.

TensorFlow tells them errors alone.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
