"""How fast the portal answers, beside PostgreSQL's own floor and CKAN: ``make bench``."""
