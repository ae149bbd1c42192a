"""The demo page, made of HTML without scripts from elsewhere."""
