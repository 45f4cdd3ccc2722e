"""What is in PostgreSQL: tables, sessions, locks and the server itself, without models."""
