"""What the demo page and the translation server answer requests with."""
