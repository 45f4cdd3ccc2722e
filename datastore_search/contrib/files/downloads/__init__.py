"""Formats of downloads that need a library."""
