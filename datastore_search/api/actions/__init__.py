"""The actions: one table of them, by name."""

from . import info, search, users, write
from .action import Action, Answer, actions, help_show, status_show

__all__ = ["Action", "Answer", "actions"]

actions.add(
    search.datastore_search,
    info.datastore_info,
    *write.write_actions,
    *users.user_actions,
    help_show,
    status_show,
)
