"""What turns text into tokens and is saved with a model."""
