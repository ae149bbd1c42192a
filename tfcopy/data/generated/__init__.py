"""Generators of the demo corpora and of synthetic tasks."""
