"""The aliases of a resource."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.db.backends.base.base import BaseDatabaseWrapper

from .. import storage
from ..exceptions import InvalidAlias, TakenAlias
from ..models import Alias, Resource, as_id

_LETTERS_MOST = 200
_NO_ALIAS = re.compile(r'[\x00-\x1f\x7f-\x9f"%]')


def set_aliases(connection: BaseDatabaseWrapper, resource: Resource, names: Sequence[str]) -> None:
    """
    Give a resource these aliases, and no others.

    Raises: ``InvalidAlias``, ``TakenAlias``.

    Source: CKAN, where an alias is the name of a table: no ``"`` and no ``%``.
    """
    for name in names:
        if not _is_valid(name):
            raise InvalidAlias(alias=name[:100])
    # Two writers that take names from each other would otherwise wait for each other.
    storage.lock_aliases(connection)
    aliases = Alias.objects.using(connection.alias)
    taken = aliases.filter(name__in=names).exclude(resource=resource).first()
    if taken is not None:
        raise TakenAlias(alias=taken.name)
    aliases.filter(resource=resource).exclude(name__in=names).delete()
    aliases.bulk_create(
        [Alias(resource=resource, name=name) for name in dict.fromkeys(names)],
        ignore_conflicts=True,
    )


def _is_valid(name: str) -> bool:
    if not name or name != name.strip() or len(name) > _LETTERS_MOST:
        return False
    # An underscore begins the names that the API itself gives, an id looks like an id.
    return not (name.startswith("_") or as_id(name) or _NO_ALIAS.search(name))
