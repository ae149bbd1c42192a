"""Attentions: the source positions that a decoder step attends to."""
