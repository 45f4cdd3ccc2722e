"""The records that a query finds, as a file in one of several formats."""
