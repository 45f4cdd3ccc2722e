"""Spans of OpenTelemetry around the statements that read records: an app of its own."""
