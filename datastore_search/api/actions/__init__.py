"""The actions: one table of them, by name; contrib apps ``register`` theirs."""

from __future__ import annotations

from . import info, search, status, write
from .action import Action, Answer, actions, register

__all__ = ["Action", "Answer", "actions", "register"]

register(
    search.datastore_search,
    info.datastore_info,
    *write.write_actions,
    status.help_show,
    status.status_show,
)
