"""Scores of texts and of word vectors; import the modules."""
