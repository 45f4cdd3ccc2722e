"""The aliases of a resource."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from .. import storage
from ..exceptions.writing import TakenAlias
from ..models import Alias, Resource, check_alias


def set_aliases(connection: BaseDatabaseWrapper, resource: Resource, names: Sequence[str]) -> None:
    """
    Replace the aliases of a resource.

    Raises: ``InvalidAlias``, ``TakenAlias``; ``WriteBlocked``.
    """
    for name in names:
        check_alias(name)
    # Two writers that take names from each other would otherwise wait for each other.
    with storage.refuse_if_blocked():
        storage.lock_aliases(connection)
    aliases = Alias.objects.using(connection.alias)
    aliases.filter(resource=resource).exclude(name__in=names).delete()
    known = set(aliases.filter(resource=resource).values_list("name", flat=True))
    for name in dict.fromkeys(names):
        if name in known:
            continue
        try:
            with transaction.atomic(using=connection.alias):
                aliases.create(resource=resource, name=name)
        except IntegrityError as error:
            raise TakenAlias(alias=name) from error
