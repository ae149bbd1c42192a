"""Layers that read definitions and spellings of words into embeddings."""
