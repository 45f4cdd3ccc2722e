"""Authentication backends of portals."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet

from datastore_search.models import Resource


class NoSignInBackend(ModelBackend):
    """Authenticates in its own way, without object permissions."""

    def authenticate(self, *_arguments: Any, **_credentials: Any) -> None:
        return None


class NoPermissionsBackend:
    """Has no permission methods at all."""

    def authenticate(self, request: Any, **credentials: Any) -> None:
        return None

    def get_user(self, user_id: Any) -> None:
        return None


class ViewAllBackend(BaseBackend):
    """Lets every user view each resource, and counts the checks."""

    checks: Counter[str] = Counter()

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        self.checks[perm] += isinstance(obj, Resource)
        return perm == "datastore_search.view_resource" and isinstance(obj, Resource)


class NoObjectsBackend(BaseBackend):
    """Must not be called with an object."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        assert obj is None
        return False


class VetoSecretBackend(BaseBackend):
    """Forbids resources with “secret” in their name, for all other backends too."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        if isinstance(obj, Resource) and "secret" in obj.name:
            raise PermissionDenied
        return False


class FilterPermittedBackend(BaseBackend):
    """Lets each user view the resources with their name as a prefix, also as one query."""

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


class ViewMineBackend(BaseBackend):
    """Lets each user view the resource named “mine”."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return (
            perm == "datastore_search.view_resource"
            and isinstance(obj, Resource)
            and obj.name == "mine"
        )
