"""Times of the portal, of PostgreSQL alone and of CKAN: ``make bench``."""

import os

# The quotas of the example portal are for people and crawlers.
os.environ.setdefault("THROTTLE", "0")
