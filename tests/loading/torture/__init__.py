"""Small files, each with a trap, and what must come of them."""
