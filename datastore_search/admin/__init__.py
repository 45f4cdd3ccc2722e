"""
The Django admin: describe resources, load files into them, watch their loads, issue tokens.

``resources`` and ``loads`` have the pages, ``forms`` what is asked of staff, ``showing`` how a load
looks in lists; ``access`` says who may do what.
"""

from . import resources, tokens

__all__ = ["resources", "tokens"]
