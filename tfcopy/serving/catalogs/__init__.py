"""Translation of gettext catalogues and XLIFF."""
