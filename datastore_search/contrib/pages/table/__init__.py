"""The table of a resource: its query, columns, records and parts."""
