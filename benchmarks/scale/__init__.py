"""Measurements of a portal on more than one machine."""
