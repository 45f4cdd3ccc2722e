"""Links from the admin to the pages and the API of the portal."""

from __future__ import annotations

from django.urls import NoReverseMatch, reverse

from ..models import Resource


def get_page_address(resource: Resource) -> str | None:
    """Return the address of the data page; None without records, or without the pages."""
    if not resource.table_version_id:
        return None
    try:
        return reverse("datastore_search:resource", args=[resource.pk])
    except NoReverseMatch:
        return None
