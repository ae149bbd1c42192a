"""One experiment a file: `python -m tfcopy.recipes.<name>`."""

import os

# Before TensorFlow is imported: its start-up messages are not for users.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
