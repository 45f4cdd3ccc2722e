"""Times of loads, and in turn with them a COPY of the same rows by PostgreSQL."""
