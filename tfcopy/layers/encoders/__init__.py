"""Encoders: layers that compute annotations of a source or of two texts."""
