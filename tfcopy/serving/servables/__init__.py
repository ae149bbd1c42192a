"""Servables: models with the functions from text to ids and back."""
