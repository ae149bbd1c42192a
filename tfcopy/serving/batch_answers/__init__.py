"""Answers to files of texts, on one or many machines."""
