"""Answers of exported models: in folders, by two engines, and on servers."""
