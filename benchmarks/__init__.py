"""Times of the portal, next to those of PostgreSQL alone and of CKAN: ``make bench``."""
