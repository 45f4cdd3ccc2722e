"""The attacked tables, loaded once and reused by the next run, and the users of the attacks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ..data import FIELDS, get_table
from ..resources import load_resource

_WRITER, _STRANGER = "abuse-writer", "abuse-stranger"


def load_tables(rows: int) -> tuple[str, str]:
    """Load the table of the honest clients and the writer's own, unless they exist."""
    own, _ = Resource.objects.get_or_create(name=f"abuse-own-{rows}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if own.table_version_id is None:
            options = LoadOptions(types=FIELDS, force=True)
            load_file(own, get_table(folder, rows), options=options)
        return load_resource(folder, rows, reload=False).id, str(own.pk)


@contextmanager
def issue_tokens() -> Iterator[tuple[str, str]]:
    """Issue a token of a user who may change resources, and of one without permissions."""
    users = get_user_model().objects
    names = (_WRITER, _STRANGER)
    users.filter(username__in=names).delete()  # users of an interrupted run
    writer, stranger = (users.create(username=name) for name in names)
    writer.user_permissions.set(
        Permission.objects.filter(
            content_type__app_label="datastore_search", codename="change_resource"
        )
    )
    try:
        yield issue_token(writer), issue_token(stranger)
    finally:
        users.filter(username__in=names).delete()
