"""From a table that was read to records: plan, bad rows, preview, publication."""
