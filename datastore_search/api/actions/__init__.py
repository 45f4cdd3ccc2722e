"""The actions: one table of them, by name."""

from __future__ import annotations

from . import info, search, status, write
from .action import Action, Answer, actions

__all__ = ["Action", "Answer", "actions"]

actions.add(
    search.datastore_search,
    info.datastore_info,
    *write.write_actions,
    status.help_show,
    status.status_show,
)
