"""What the fields of a file are: their types, the formats that the file writes them in, and why."""
