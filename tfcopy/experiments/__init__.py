"""Shared parts of recipes: flags, training, reports, the folder of a run."""
