"""Layers that turn a source, or a pair of texts, into annotations."""
