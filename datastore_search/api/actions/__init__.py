"""The actions: one table of them, by name."""

from __future__ import annotations

from collections.abc import Mapping

from datastore_search.contrib.analysis import actions as analysis
from datastore_search.contrib.catalogue.actions import datasets as catalogue, resources
from . import info, search, status, write
from .action import VARY, Action, Answer

__all__ = ["VARY", "Action", "Answer", "actions"]

actions: Mapping[str, Action] = {
    action.name: action
    for action in (
        search.datastore_search,
        *analysis.analysis_actions,
        info.datastore_info,
        *write.write_actions,
        *catalogue.catalogue_actions,
        *resources.resource_actions,
        status.help_show,
        status.status_show,
    )
}

status.descriptions.update({name: action.help for name, action in actions.items()})
