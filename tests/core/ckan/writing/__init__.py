"""
The writing cases: actions that follow each other on the case's own resource, ``@own``.

After the last step each case searches all records. A step is an action, without its
``datastore_``, and its parameters. Words after the action label it; ``anonymous`` leaves the token
out.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import records, tables, values
from .step import FINAL_SEARCH, Step

__all__ = ["FINAL_SEARCH", "GROUPS", "Step"]

GROUPS: Mapping[str, Mapping[str, list[Step]]] = {
    **tables.GROUPS,
    **values.GROUPS,
    **records.GROUPS,
}
