"""What a real CKAN answers, recorded, and our answers beside it."""
