"""Issue an API token."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import router

from ...web.tokens import issue_token


class Command(BaseCommand):
    help = "Issue an API token for a user and print it; it cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> str:
        users = get_user_model()
        try:
            user = _find_user(options["username"])
        except users.DoesNotExist:
            raise CommandError(f"There is no user “{options['username']}”.") from None
        return issue_token(user)


def _find_user(name: str) -> AbstractBaseUser:
    """Find a user as signing in does: by natural key, or by ``USERNAME_FIELD``."""
    users = get_user_model()
    manager = users._default_manager  # noqa: SLF001 - Django documents it: `objects` may be missing
    # The database that stores the token: a replica may not have the user yet.
    manager = manager.db_manager(router.db_for_write(users))
    by_natural_key = getattr(manager, "get_by_natural_key", None)
    user: AbstractBaseUser = (
        by_natural_key(name) if by_natural_key else manager.get(**{users.USERNAME_FIELD: name})
    )
    return user
