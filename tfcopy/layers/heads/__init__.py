"""Output heads: the split of the next word into generating and pointing."""
