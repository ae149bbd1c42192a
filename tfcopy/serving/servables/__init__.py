"""What is exported: models with all that turns text into ids and back."""
