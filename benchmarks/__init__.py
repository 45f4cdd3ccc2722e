"""How fast the portal answers, beside PostgreSQL's own floor: ``make bench``."""
