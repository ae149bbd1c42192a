"""From text to text: translate, export a SavedModel, ask it.

Import from the modules; `tfcopy.serving.ask` needs tensorflow alone, so
nothing is imported here.
"""
