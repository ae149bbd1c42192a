"""Corpora of sentence pairs, one a file."""
