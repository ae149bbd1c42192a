"""Readers of published corpora and of users' files, one a file."""
