"""
The writing cases: actions in a row on a resource of the case's own, ``@own``.

After the last step each case looks at the records. A step is an action, without its
``datastore_``, and what it is sent. Words after the action say more of it; ``anonymous`` leaves
the token out.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import records, tables, values
from .step import LOOK, Step

__all__ = ["GROUPS", "LOOK", "Step"]

GROUPS: Mapping[str, Mapping[str, list[Step]]] = {
    **tables.GROUPS,
    **values.GROUPS,
    **records.GROUPS,
}
