"""Corpora larger than memory, made ready in parts that are files."""

# Of a prepared folder, beside its shards.
MANIFEST = "prepared.json"
