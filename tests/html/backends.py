"""An authentication backend for the tests."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend

from datastore_search.models import Resource


class OnlyTheOneNamedMine(BaseBackend):
    """Everybody may view the resource named “mine”, as object permissions would have it."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return (
            perm == "datastore_search.view_resource"
            and isinstance(obj, Resource)
            and obj.name == "mine"
        )
