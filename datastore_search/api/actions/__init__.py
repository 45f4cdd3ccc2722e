"""The actions: one table of them, by name."""

from __future__ import annotations

from collections.abc import Mapping

from . import about, describing, searching, writing
from .action import VARY, Action, Answer

__all__ = ["VARY", "Action", "Answer", "actions"]

actions: Mapping[str, Action] = {
    action.name: action
    for action in (
        searching.datastore_search,
        describing.datastore_info,
        writing.datastore_create,
        writing.datastore_upsert,
        writing.datastore_delete,
        writing.datastore_records_delete,
        about.help_show,
        about.status_show,
    )
}

about.known.update({name: action.help for name, action in actions.items()})
