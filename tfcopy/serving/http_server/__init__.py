"""The translation server, and parts that it shares with the demo page."""
