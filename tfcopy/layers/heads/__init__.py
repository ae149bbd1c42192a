"""Output heads: layers that return a `CopyDistribution` over the next token."""
