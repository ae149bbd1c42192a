"""Filling gettext catalogues, `.po` files, line by line."""
