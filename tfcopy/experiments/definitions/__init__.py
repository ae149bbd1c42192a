"""The steps of experiments on models that read definitions."""
