"""
The Django admin: describe resources, issue tokens.

``resources`` and ``tokens`` are the model admins; ``parts`` are what contrib apps add to the first.
"""

from . import resources, tokens

__all__ = ["resources", "tokens"]
