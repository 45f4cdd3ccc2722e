"""For those who run the portal: doctor, health, metrics, spans, middleware."""
