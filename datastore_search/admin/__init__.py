"""
The Django admin: describe resources, load files into them, watch their loads, issue tokens.

``resources``, ``loads`` and ``tokens`` are the model admins.  ``drafts`` has the pages between an
upload and its load, with ``forms``, ``widgets`` and ``preview``; ``display`` shows the state of a
load; ``permissions`` decides who may do what.  ``uploads`` limits what is received,
``database_errors`` answers when the database refuses.
"""

from datastore_search.contrib.files.admin import loads
from . import resources, tokens

__all__ = ["loads", "resources", "tokens"]
