"""Text in, text out: exports, clients, commands and the demo page.

Import from the modules; `tfcopy.serving.ask` needs tensorflow alone, so
nothing is imported here.
"""
