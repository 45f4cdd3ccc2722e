"""A portal with the tables of the example project that the examples use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.test import Client
from knox.crypto import hash_token
from knox.models import AuthToken

from datastore_search.contrib.files.jobs import load_file
from example_project.management.commands.demo import _SAMPLES as SAMPLES

from ..builders import create_resource, make_token, make_user

#: Names in ``manifest.json``: the survey is public, the staff training is private.
TABLES = ("watershed-survey", "staff-training")


def fetch_document() -> dict[str, Any]:
    response = Client().get("/en/api/schema/", {"format": "json"})
    assert response.status_code == 200
    document: dict[str, Any] = json.loads(response.content)
    return document


def make_portal() -> str:
    """Load the tables, described as in the example project; return a superuser's token."""
    for sample in json.loads((SAMPLES / "manifest.json").read_text(encoding="utf-8")):
        if sample["name"] in TABLES:
            load_sample(sample)
    user = make_user("editor", is_superuser=True)
    AuthToken(user=user, digest=hash_token("0" * 64), token_key="5b6f1c8e2d8b4c0").save()
    return make_token(user)


def load_sample(sample: dict[str, Any]) -> None:
    names = ("id", "name", "title", "description", "private", "language", "content_language")
    named = {name: sample[name] for name in names if name in sample}
    resource = create_resource(**named, **sample.get("about", {}))
    load_file(resource, SAMPLES / sample["file"])
    for field in resource.fields.all():
        field.label = sample["labels"].get(field.name, "")
        field.notes = sample["notes"].get(field.name, "")
        field.save()


@contextmanager
def roll_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
