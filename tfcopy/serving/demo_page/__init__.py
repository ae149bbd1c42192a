"""The demo page, HTML without scripts from elsewhere."""
