"""Tests with Citus itself, where ``CITUS_BIN`` names a build of it."""
