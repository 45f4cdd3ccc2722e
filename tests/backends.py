"""Authentication backends of portals."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet

from datastore_search.models import Resource


class PlainBackend(ModelBackend):
    """Signs people in in its own way, and knows nothing of single resources."""

    def authenticate(self, *_arguments: Any, **_credentials: Any) -> None:
        return None


class OnlySigningIn:
    """Knows no permissions at all."""

    def authenticate(self, request: Any, **credentials: Any) -> None:
        return None

    def get_user(self, user_id: Any) -> None:
        return None


class AllOfThem(BaseBackend):
    """Everybody may view each resource; counts how often it is asked."""

    asked: Counter[str] = Counter()

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        self.asked[perm] += isinstance(obj, Resource)
        return perm == "datastore_search.view_resource" and isinstance(obj, Resource)


class Refusing(BaseBackend):
    """Lets nobody ask about a resource."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        assert obj is None
        return False


class Vetoing(BaseBackend):
    """Forbids what is called secret, whatever another backend says."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        if isinstance(obj, Resource) and "secret" in obj.name:
            raise PermissionDenied
        return False


class Finding(BaseBackend):
    """Everybody may view what is called after them, which one query finds."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return (
            perm == "datastore_search.view_resource"
            and isinstance(obj, Resource)
            and obj.name.startswith(f"{user_obj.get_username()}-")
        )

    def filter_permitted(
        self, user: Any, permissions: list[str], objects: QuerySet[Resource]
    ) -> QuerySet[Resource]:
        if "datastore_search.view_resource" not in permissions:
            return objects.none()
        return objects.filter(name__startswith=f"{user.get_username()}-")
