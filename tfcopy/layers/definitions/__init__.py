"""Layers that compute word embeddings from definitions and spellings."""
