"""Every picture that is drawn with matplotlib, an extra."""
