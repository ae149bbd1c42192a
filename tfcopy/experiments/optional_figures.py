"""`figures`, the package `tfcopy.figures`, or `None` without matplotlib.

matplotlib is an extra: a recipe without it draws nothing. Any other failure of
the import is an error.
"""

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "matplotlib":
        raise
    figures = None
else:
    from tfcopy import figures  # noqa: F401
