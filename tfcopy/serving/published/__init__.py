"""Translators that others have published, in the forms of their publishers."""
