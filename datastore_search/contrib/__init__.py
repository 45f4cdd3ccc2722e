"""Apps around the core, each optional; the core imports none of them."""
