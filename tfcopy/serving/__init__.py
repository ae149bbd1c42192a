"""Text in, text out: exports, models, commands, servers and a page.

Import from the modules: nothing is imported here, so that each command loads
only the packages that it needs.
"""
