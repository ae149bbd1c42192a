"""The page that shows translators in the browser."""
