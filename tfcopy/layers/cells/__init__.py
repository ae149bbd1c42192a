"""Decoder cells: one step of a decoder, state in and state out."""
