"""What operators look at: doctor, health, metrics, spans."""
