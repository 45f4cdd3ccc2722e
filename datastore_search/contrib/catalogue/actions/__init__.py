"""The actions of the catalogue."""
