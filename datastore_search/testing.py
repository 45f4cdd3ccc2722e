"""Helpers for the tests of a portal: a resource with records, and a client with a token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.test import Client

from .interface import convert_to_json
from .models import Resource
from .web.tokens import issue_token
from .writing import GivenField, Method, open_writer


def create_resource(
    name: str,
    records: Sequence[Mapping[str, Any]] = (),
    *,
    types: Mapping[str, str] | None = None,
    primary_key: Sequence[str] = (),
    **members: Any,
) -> Resource:
    """
    Create a resource with records, as a client of the API does; it is public unless ``private``.

    Values are as for ``interface.create``.  ``types`` are of fields; others are guessed.
    ``members`` are of the model.
    """
    records = convert_to_json(records)
    resource = Resource.objects.create(name=name, **members)
    fields = [GivenField(field, kind, None) for field, kind in (types or {}).items()]
    with open_writer(resource) as writer:
        writer.create(fields, records)
        writer.set_key(primary_key)
        writer.write(records, Method.INSERT)
    return Resource.objects.get(pk=resource.pk)


def create_token_client(user: AbstractBaseUser) -> Client:
    return Client(headers={"Authorization": issue_token(user)})
