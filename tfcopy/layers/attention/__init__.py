"""Attentions: which source positions a decoder step looks at."""
