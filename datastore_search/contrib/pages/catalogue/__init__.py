"""The page of the catalogue."""
