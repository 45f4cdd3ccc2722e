"""The actions: one table of them, by name."""

from __future__ import annotations

from collections.abc import Mapping

from . import aggregate, catalogue, facets, info, resources, search, status, suggest, write
from .action import VARY, Action, Answer

__all__ = ["VARY", "Action", "Answer", "actions"]

actions: Mapping[str, Action] = {
    action.name: action
    for action in (
        search.datastore_search,
        facets.datastore_facets,
        aggregate.datastore_aggregate,
        suggest.datastore_suggest,
        info.datastore_info,
        write.datastore_create,
        write.datastore_upsert,
        write.datastore_delete,
        write.datastore_records_delete,
        *catalogue.catalogue_actions,
        *resources.resource_actions,
        status.help_show,
        status.status_show,
    )
}

status.descriptions.update({name: action.help for name, action in actions.items()})
