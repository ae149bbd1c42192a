"""Asking a model: an exported folder or a server, by one interface."""
