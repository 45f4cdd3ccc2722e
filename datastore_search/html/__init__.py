"""Pages for people: the catalogue, and a data page for each resource."""
