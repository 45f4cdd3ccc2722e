"""
Which of many objects a user may do something with, in as few questions as the backends allow.

Django asks a user's permission for one object at a time.  A list of objects needs one condition:
most portals have no backend with permissions for single objects, django-guardian finds them by a
query, and other backends can be asked about a bounded number of objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from django.apps import apps
from django.contrib.auth import get_backends
from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.models import AnonymousUser, PermissionsMixin
from django.db.models import Model, Q, QuerySet

#: Objects about which backends are asked one by one, at most.
MAX_OBJECTS_ASKED: Final = 1_000

#: A backend may offer a method of this name, which takes a user, names of permissions and a
#: QuerySet, and returns the objects of the QuerySet for which the user has one of the permissions.
HOOK: Final = "filter_permitted"

_NOTHING: Final = Q(pk__in=())
_EVERYTHING: Final = ~_NOTHING

#: Where Django's own backends look for permissions; for an object these find none.
_LOOKUPS: Final = (
    "has_perm",
    "get_all_permissions",
    "get_group_permissions",
    "get_user_permissions",
    "_get_permissions",
)


@dataclass(frozen=True, slots=True)
class Permitted:
    """
    The objects that a user has a permission for, as a condition on a QuerySet.

    They are all of them if ``is_complete``; otherwise there were too many to ask about.
    """

    condition: Q
    is_complete: bool = True

    @property
    def is_everything(self) -> bool:
        """Tell whether the user has the permission in general."""
        return self.condition == _EVERYTHING


def find_permitted(
    user: Any,
    permissions: Sequence[str],
    objects: QuerySet[Any],
    *,
    max_asked: int | None = None,
) -> Permitted:
    """
    Find the objects for which a user has one of some permissions, in general or for each.

    ``max_asked`` is about how many objects a backend is asked that cannot find them by a query:
    ``MAX_OBJECTS_ASKED``, if it is not given.
    """
    if not hasattr(user, "has_perm"):
        return Permitted(_NOTHING)
    if any(user.has_perm(permission) for permission in permissions):
        return Permitted(_EVERYTHING)
    if _is_asked_as_usual(user):
        found = [_found_by(backend, user, permissions, objects) for backend in get_backends()]
        conditions = [condition for condition in found if condition is not None]
        if len(conditions) == len(found):
            return Permitted(reduce(or_, conditions, _NOTHING))
    return _asked(user, permissions, objects, MAX_OBJECTS_ASKED if max_asked is None else max_asked)


def _is_asked_as_usual(user: Any) -> bool:
    """
    Tell whether nobody but the backends decides, as Django’s users have it.

    The user of a session is a lazy object, which has the class of the user in ``__class__`` alone.
    """
    return user.__class__.has_perm in {PermissionsMixin.has_perm, AnonymousUser.has_perm}


def _found_by(
    backend: Any, user: Any, permissions: Sequence[str], objects: QuerySet[Any]
) -> Q | None:
    """Let a backend find objects by a query; None when it has to be asked about each."""
    if hasattr(backend, HOOK):
        return Q(pk__in=getattr(backend, HOOK)(user, permissions, objects).values("pk"))
    if _knows_no_objects(backend):
        return _NOTHING
    if _is_guardian(backend):
        return _found_by_guardian(user, permissions, objects.model)
    return None


def _knows_no_objects(backend: Any) -> bool:
    kind = type(backend)
    if not hasattr(kind, "has_perm"):
        return True
    plain = (BaseBackend, ModelBackend)
    return isinstance(backend, BaseBackend) and all(
        any(getattr(kind, name, None) is getattr(each, name, None) for each in plain)
        for name in _LOOKUPS
    )


def _is_guardian(backend: Any) -> bool:
    if not apps.is_installed("guardian"):
        return False
    from guardian.backends import ObjectPermissionBackend  # noqa: PLC0415 - a portal may have it

    return getattr(type(backend), "has_perm", None) is ObjectPermissionBackend.has_perm


def _found_by_guardian(user: Any, permissions: Sequence[str], model: type[Model]) -> Q:
    from guardian.backends import check_user_support  # noqa: PLC0415 - a portal may have it
    from guardian.shortcuts import get_objects_for_user  # noqa: PLC0415 - a portal may have it

    is_supported, known = check_user_support(user)
    if not is_supported or not known.is_active:
        return _NOTHING
    found = get_objects_for_user(
        known, list(permissions), model, any_perm=True, with_superuser=False
    )
    return Q(pk__in=found.order_by().values("pk"))


def _asked(
    user: Any, permissions: Sequence[str], objects: QuerySet[Any], max_asked: int
) -> Permitted:
    candidates = list(objects.order_by("pk")[: max_asked + 1])
    found = [
        each.pk
        for each in candidates[:max_asked]
        if any(user.has_perm(permission, each) for permission in permissions)
    ]
    return Permitted(Q(pk__in=found), is_complete=len(candidates) <= max_asked)
