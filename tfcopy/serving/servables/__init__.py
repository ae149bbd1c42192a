"""What is exported: models with all that makes text of them and for them."""
