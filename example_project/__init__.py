"""A small portal that uses datastore_search, for the demo and the tests."""
