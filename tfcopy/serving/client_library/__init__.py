"""One interface to models: exported folders and servers."""
