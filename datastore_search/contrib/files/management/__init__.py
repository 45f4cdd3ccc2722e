"""Commands that load files."""
