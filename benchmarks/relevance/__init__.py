"""What searches find, and in which order, beside other engines: ``make relevance``."""
