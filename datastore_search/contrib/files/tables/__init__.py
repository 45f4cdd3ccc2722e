"""Tables that a load fills: rows, orders, locks."""
