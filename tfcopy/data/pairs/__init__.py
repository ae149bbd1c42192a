"""From pairs of sentences to batches of ids and copy ids."""
