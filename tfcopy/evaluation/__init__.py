"""Scores of texts, and what models know of words; import from the modules."""
