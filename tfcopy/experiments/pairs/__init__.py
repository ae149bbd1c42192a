"""The steps of experiments on pairs of texts."""
