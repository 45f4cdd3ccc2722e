"""The panel of facets, and what a query may have meant."""
