"""The chart of a resource."""
