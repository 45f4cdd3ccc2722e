"""Issue an API token."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import router
from django.utils.translation import gettext as _

from datastore_search.tokens import issue_token


class Command(BaseCommand):
    """Print a new token of a user, alone on standard output."""

    help = _("Issue an API token for a user and print it; it cannot be shown again.")

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> str:
        """Issue the token."""
        users = get_user_model()
        try:
            user = _user_named(options["username"])
        except users.DoesNotExist:
            raise CommandError(
                _("There is no user “%(name)s”.") % {"name": options["username"]}
            ) from None
        return issue_token(user)


def _user_named(name: str) -> AbstractBaseUser:
    """
    Find a user as whoever signs in does, or by what the model says is its name.

    A manager need not be Django's own, which alone knows natural keys.

    Raises: the model's ``DoesNotExist``.
    """
    users = get_user_model()
    manager = users._default_manager  # noqa: SLF001 - Django documents it: `objects` may be missing
    # Where the token is issued, for a replica may not know the user yet.
    manager = manager.db_manager(router.db_for_write(users))
    by_natural_key = getattr(manager, "get_by_natural_key", None)
    user: AbstractBaseUser = (
        by_natural_key(name) if by_natural_key else manager.get(**{users.USERNAME_FIELD: name})
    )
    return user
