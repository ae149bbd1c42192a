"""Tokenisation, vocabularies and markup; saved with a model."""
