"""
The Django admin: describe resources, issue tokens.

``resources`` and ``tokens`` are the model admins; ``parts`` are what contrib apps add to the first.
``permissions`` decides who may do what; ``lock_timeout`` says when the database is locked.
"""

from . import resources, tokens

__all__ = ["resources", "tokens"]
