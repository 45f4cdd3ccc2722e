"""The map of a resource."""
