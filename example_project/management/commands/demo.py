"""Prepare the example portal: database, sample data, an admin user, a token."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from knox.models import get_token_model

from datastore_search.contrib.catalogue.models import Dataset
from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.models import Field, Resource
from datastore_search.web.tokens import issue_token

from .serve import check_port

_SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
_SURVEY = "watershed-survey"

_FAREWELL = """
Everything is ready.

  Portal   http://127.0.0.1:{port}/
  Admin    http://127.0.0.1:{port}/en/admin/   user: {user}   password: {password}
  Token    {token}

Ask it something:

{curl}
"""


class Command(BaseCommand):
    """Prepare the example portal; a repeated run keeps what exists."""

    help = "Prepare the example portal and print how to use it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare everything, then print how to use it."""
        check_port(options["port"])  # before the password of a portal that is served is changed
        call_command("migrate", verbosity=0)
        for sample in json.loads((_SAMPLES / "manifest.json").read_text(encoding="utf-8")):
            self._load_sample(sample)
        user, password = self._create_admin()
        token = issue_token(user)
        survey = Resource.objects.get(name=_SURVEY)
        self.stdout.write(
            _FAREWELL.format(
                port=options["port"],
                user=user.get_username(),
                password=password,
                token=token,
                curl=_build_curl_command(options["port"], token, survey),
            )
        )

    def _load_sample(self, sample: dict[str, Any]) -> None:
        """Make a resource of a sample, unless it is there."""
        resource, _ = Resource.objects.get_or_create(
            pk=sample["id"],
            defaults={
                name: sample[name]
                for name in ("name", "title", "description", "private", "language")
            }
            | {"content_language": sample.get("content_language", "")},
        )
        if resource.table_version_id:
            return
        dataset = Dataset.objects.get(resource=resource)
        for name, value in sample.get("about", {}).items():
            setattr(dataset, name, value)
        dataset.save()
        load = load_file(
            resource, _SAMPLES / sample["file"], options=LoadOptions(types=sample.get("types", {}))
        )
        for member, attribute in (("labels", "label"), ("notes", "notes")):
            for name, text in sample.get(member, {}).items():
                Field.objects.filter(resource=resource, name=name).update(**{attribute: text})
        self.stdout.write(f"{resource}: {load.record_count} records")

    def _create_admin(self) -> tuple[Any, str]:
        """Make the admin user, or give the one there is a new password; forget old tokens."""
        password = os.environ.get("DEMO_PASSWORD") or secrets.token_urlsafe(9)
        user, _ = get_user_model().objects.get_or_create(
            username="admin", defaults={"is_staff": True, "is_superuser": True}
        )
        user.set_password(password)
        user.save()
        get_token_model().objects.filter(user=user).delete()
        return user, password


def _build_curl_command(port: int, token: str, survey: Resource) -> str:
    body = json.dumps(
        {
            "resource_id": str(survey.pk),
            "limit": 5,
            "q": "river",
            "filters": {"subject": ["watershed", "survey"], "stage": "active"},
        }
    )
    return (
        f"curl -X POST http://127.0.0.1:{port}/vi/api/action/datastore_search \\\n"
        f'     -H "Authorization: {token}" -H "Content-Type: application/json" \\\n'
        f"     -d {shlex.quote(body)}"
    )
