"""Output heads: distributions that split into generating and pointing."""
