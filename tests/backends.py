"""Authentication backends of portals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import QuerySet
from django.test import override_settings

from datastore_search.models import Resource


def get_viewed_name(perm: str, obj: Any) -> str:
    """Return the name of a resource that shall be viewed; empty for another permission."""
    is_view = perm == "datastore_search.view_resource" and isinstance(obj, Resource)
    return obj.name if is_view else ""


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
        return bool(get_viewed_name(perm, obj))


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
        name = get_viewed_name(perm, obj)
        return name.startswith(f"{user_obj.get_username()}-")

    def filter_permitted(
        self, user: Any, permissions: list[str], objects: QuerySet[Resource]
    ) -> QuerySet[Resource]:
        if "datastore_search.view_resource" not in permissions:
            return objects.none()
        return objects.filter(name__startswith=f"{user.get_username()}-")


class ViewMineBackend(BaseBackend):
    """Lets each user view the resource named “mine”."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return get_viewed_name(perm, obj) == "mine"


class CollectMineBackend(ModelBackend):
    """The same, in the look-up of all permissions, which has_perm asks."""

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        is_mine = isinstance(obj, Resource) and obj.name == "mine"
        return {"datastore_search.view_resource"} if is_mine else set()


@contextmanager
def install_guardian() -> Iterator[None]:
    """Install django-guardian; its tables end with the transaction of the caller."""
    organizations = "datastore_search.contrib.catalogue"
    has_organizations = apps.is_installed(organizations)
    values = {
        "ANONYMOUS_USER_NAME": None,
        "GUARDIAN_MONKEY_PATCH_USER": False,
        "GUARDIAN_MONKEY_PATCH_GROUP": False,
        "AUTHENTICATION_BACKENDS": [
            "django.contrib.auth.backends.ModelBackend",
            "guardian.backends.ObjectPermissionBackend",
            *([f"{organizations}.permissions.OrganizationBackend"] if has_organizations else []),
        ],
    }
    # The app reads its settings when it is installed.
    with (
        override_settings(**values),
        override_settings(INSTALLED_APPS=[*settings.INSTALLED_APPS, "guardian"]),
    ):
        models = import_module("guardian.models")  # once the app is installed
        apps.clear_cache()  # models have cached their relations
        with connection.schema_editor() as editor:
            editor.create_model(models.UserObjectPermission)
            editor.create_model(models.GroupObjectPermission)
        yield
    ContentType.objects.clear_cache()
