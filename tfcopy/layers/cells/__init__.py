"""Decoder cells: one step of a decoder, from one state to the next."""
