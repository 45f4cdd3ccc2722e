"""The catalogue: datasets that can be searched, each with resources."""
