"""Corpora larger than memory, made ready in parts that are files."""
