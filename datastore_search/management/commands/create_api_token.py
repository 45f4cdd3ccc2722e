"""Issue an API token."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import router

from ...database.server import report_refusal
from ...web.tokens import issue_token


class Command(BaseCommand):
    help = "Issue an API token for a user and print it; it cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    @report_refusal()
    def handle(self, *args: Any, **options: Any) -> str:
        """Find the user as signing in does: by natural key, or by ``USERNAME_FIELD``."""
        users, name = get_user_model(), options["username"]
        manager: Any = users._default_manager
        # The database that stores the token: a replica may not have the user yet.
        manager = manager.db_manager(router.db_for_write(users))
        try:
            if hasattr(manager, "get_by_natural_key"):
                return issue_token(manager.get_by_natural_key(name))
            return issue_token(manager.get(**{users.USERNAME_FIELD: name}))
        except users.DoesNotExist:
            raise CommandError(f"There is no user “{name}”.") from None
