"""The HTML pages: the catalogue, and a data page for each resource."""
