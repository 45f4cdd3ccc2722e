"""What a portal costs that grows: more machines, more tables, more records."""
