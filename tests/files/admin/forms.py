"""
What staff send: a file, and the form of an upload; resources as the lists show them.

Tests of the core import it where the app is not installed, so it imports nothing of the app.
"""

from __future__ import annotations

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from datastore_search.models import Resource

from ...builders import make_listed_resource

FORM = {"mode": "replace", "bad_rows": "refuse"}
CSV = "subject,amount\nwatershed,10.50\nsurvey,\n"


def make_file(text: str | bytes = CSV, name: str = "survey.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


def list_with_load(name: str, **values: Any) -> Resource:
    """Make a resource that is listed with a load, as after its file was loaded."""
    resource = make_listed_resource(name, **values)
    resource.loads.create(source=f"{name}.csv", state="ready")
    return resource
