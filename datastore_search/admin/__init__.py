"""
The Django admin: describe resources, load files into them, watch their loads, issue tokens.

``resources`` and ``loads`` have the pages of each, ``drafting`` leads from an upload to a load;
``forms``, made of ``inputs``, is what staff are asked, ``found`` what a preview shows, ``showing``
how a load looks, ``access`` who may do what, ``refusals`` what the database does not let them.
"""

from . import loads, resources, tokens

__all__ = ["loads", "resources", "tokens"]
