"""Statements of clients in PostgreSQL's SQL, which the engine answers."""
