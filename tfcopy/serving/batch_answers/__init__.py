"""Answers to files of texts, on one machine or many."""
