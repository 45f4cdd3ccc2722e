"""Publish a file's rows: plan the load, find their errors, and write the records."""
