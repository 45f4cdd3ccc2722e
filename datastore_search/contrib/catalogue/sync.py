"""Keep datasets of a portal's own in step with what the portal has."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Final

from django.core.exceptions import ValidationError
from django.db import connections, router
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from ...database.statements import begin_write_transaction, lock_aliases
from ...models import Resource
from .models import Dataset, State

#: What only this module and triggers set.
_KEPT: Final = Dataset.guarded_fields | {"id", "modified_at"}

#: The names of the columns that are copied.
_COPIED: Final = [each.name for each in Dataset._meta.concrete_fields if each.name not in _KEPT]


def sync_dataset(dataset: Dataset, resources: Iterable[Resource | uuid.UUID | str] = ()) -> bool:
    """
    Create a dataset, or update the one with its id, and put resources into it.

    ``dataset`` is a new object with an ``id`` and a ``name``; what it does not name is emptied.
    ``resources`` are all of its resources in order, or their ids.  One that is left out becomes a
    dataset of its own again.  Returns whether anything was changed: if nothing was, no version
    changes.

    Raises: ``ValidationError`` by the names of fields, ``resources`` among them; ``WriteBlocked``.
    """
    named = (each.pk if isinstance(each, Resource) else each for each in resources)
    ids = list(dict.fromkeys(map(str, named)))
    using = router.db_for_write(Dataset)
    with begin_write_transaction(connections[using]):
        rows = Dataset.objects.using(using)
        found = rows.select_for_update().filter(pk=dataset.pk)
        known = found.first()
        lock_resources(using, Q(dataset__pk__in=ids) | Q(dataset__part_of=dataset.pk))
        if known is None or known.name != dataset.name:
            lock_aliases(connections[using])  # one transaction gives names at a time
            known = known or found.first()
        parts = _find_parts(dataset, ids, using)
        others = rows.filter(resource=None).exclude(pk=dataset.pk)
        unrelated = Resource.objects.using(using).exclude(pk__in=[part.pk for part in parts])
        for field, name in (("id", dataset.pk), ("name", dataset.name)):
            if not name:
                raise ValidationError({field: Dataset.name.field.error_messages["blank"]})
            is_taken = others.filter(match_dataset_name(name)).exists()
            if is_taken or unrelated.known_as(name).exists() or (known and known.resource_id):
                raise ValidationError({field: dataset.unique_error_message(Dataset, (field,))})
        row = known or Dataset(pk=dataset.pk)
        before = _read_values(row)
        for name in _COPIED:
            setattr(row, name, getattr(dataset, name))
        row.full_clean()
        is_changed = known is None or _read_values(row) != before
        if is_changed:
            row.save(using=using)
        left = rows.filter(part_of=row).exclude(pk__in=[part.pk for part in parts])
        moved = []
        for position, part in enumerate(parts):
            if (part.part_of_id, part.position) != (row.pk, position):
                part.part_of, part.position = row, position
                moved.append(part)
        rows.bulk_update(moved, ["part_of", "position"])
        return bool(left.update(part_of=None)) or is_changed or bool(moved)


def delete_dataset(dataset_id: str) -> bool:
    """
    Delete a dataset of the portal's own; its resources become datasets of their own again.

    Returns whether there was one.

    Raises: ``WriteBlocked``.
    """
    using = router.db_for_write(Dataset)
    with begin_write_transaction(connections[using]):
        rows = Dataset.objects.using(using).filter(pk=dataset_id, resource=None)
        rows.select_for_update().first()  # in the order of ``sync_dataset``
        lock_resources(using, Q(dataset__part_of=dataset_id))
        return bool(rows.delete()[0])


def is_dataset(name: str, resource_id: uuid.UUID) -> bool:
    """Return whether a dataset, visible or not, has an id or a name, but for a resource’s own."""
    rows = Dataset.objects.using(router.db_for_write(Dataset)).filter(resource=None)
    return rows.filter(match_dataset_name(name)).exclude(parts__resource=resource_id).exists()


def match_dataset_name(name: str) -> Q:
    """Match the dataset that has an id or a name; the names of deleted ones are free."""
    return Q(pk=name) | Q(name=name, state=State.ACTIVE)


def _read_values(row: Dataset) -> list[object]:
    return [getattr(row, name) for name in _COPIED]


def lock_resources(using: str, condition: Q) -> None:
    """Lock resources before the rows of their datasets, as everything that writes them does."""
    locked = Resource.objects.using(using).select_for_update(of=("self",), no_key=True)
    list(locked.filter(condition).order_by("pk").values_list("pk"))


def _find_parts(dataset: Dataset, ids: Sequence[str], using: str) -> Sequence[Dataset]:
    """Find the rows of resources in order, none of which may be part of another dataset."""
    by_id = Dataset.objects.using(using).filter(resource__isnull=False).in_bulk(ids)
    for each in ids:
        if each not in by_id:
            text = _("There is no resource “%(resource)s”.")
        elif by_id[each].part_of_id not in {None, dataset.pk}:
            text = _("The resource “%(resource)s” is part of another dataset.")
        else:
            continue
        raise ValidationError({"resources": ValidationError(text, params={"resource": each})})
    return [by_id[each] for each in ids]
