"""Import a package: a load of its records, and what it says of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import connections, router, transaction

from ..exceptions.loads import LoadFailed
from ..loading.jobs import LoadOptions, Progress
from ..loading.jobs.queue import create_load
from ..loading.jobs.runner import run_load
from ..loading.readers.staging import StagedTable
from ..loading.sources.archives import unpack
from ..loading.sources.folders import create_working_folder
from ..loading.sources.limits import ReadingLimits
from ..models import Field, Load, Resource
from ..writing.aliases import set_aliases
from .descriptor import DESCRIPTOR_NAME, RECORDS_NAME, Descriptor, read_descriptor

#: The values of a resource that its next load uses, so that they come before the records.
_OF_LOAD = ("language", "indexes")

_FIELD_VALUES = ("label", "notes", "translations", "extra_info")
_FIELDS_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """
    How a package becomes a resource.

    ``id`` and ``name`` are in place of those of the package.  Only with ``replace`` may there be a
    resource of that id already.  ``with_aliases`` sets the aliases of the package.
    """

    id: uuid.UUID | None = None
    name: str = ""
    replace: bool = False
    with_aliases: bool = False


def import_resource(
    path: Path, options: ImportOptions, *, source: str = "", progress: Progress | None = None
) -> Load:
    """
    Import a package; a resource that is there serves its old records until the new ones are whole.

    Raises: ``LoadFailed``.
    """
    descriptor = _read_package(path)
    values = {**descriptor.values, **({"name": options.name} if options.name else {})}
    resource_id = options.id or descriptor.id
    existing = Resource.objects.filter(pk=resource_id).first()
    if existing and not options.replace:
        raise LoadFailed("package.resource_exists", id=str(existing.pk), name=existing.name)
    described = Resource(pk=resource_id, **values)
    if existing and not options.name:
        described.name = existing.name  # addresses of this portal
    _check_resource(described, is_new=existing is None)
    with _prepare_resource(existing, described) as resource:
        load = create_load(resource, _build_load_options(descriptor), source=source or path.name)
        check = partial(_check_fields, descriptor)
        run_load(load, path, progress=progress, check_table=check)
        _describe_resource(described, descriptor, with_aliases=options.with_aliases)
    load.refresh_from_db()
    return load


def _read_package(path: Path) -> Descriptor:
    with create_working_folder() as folder:
        limits = ReadingLimits.for_file(path)
        file = unpack(path, path.name, folder, limits, member=DESCRIPTOR_NAME)
        if file.path == path:
            raise LoadFailed("package.not_an_archive")
        return read_descriptor(file.path)


def _check_resource(described: Resource, *, is_new: bool) -> None:
    """
    Check the values of a resource, of which the server or other resources may allow fewer.

    Raises: ``LoadFailed``.
    """
    described._state.adding = is_new  # noqa: SLF001 - Django's way to check the uniqueness of an old row
    try:
        described.full_clean()
    except ValidationError as error:
        raise LoadFailed("package.invalid_descriptor", reason=" ".join(error.messages)) from error


@contextmanager
def _prepare_resource(existing: Resource | None, described: Resource) -> Iterator[Resource]:
    """
    Create or change what the load needs; after a failure everything is as before.

    A package of a private resource is never public, and a resource that is private stays so until
    its records are those of the package.
    """
    if existing is None:
        described.save(force_insert=True)
        try:
            yield described
        except BaseException:
            described.delete()
            raise
        return
    row = Resource.objects.filter(pk=existing.pk)
    before = {name: getattr(existing, name) for name in (*_OF_LOAD, "private")}
    row.update(
        **{name: getattr(described, name) for name in _OF_LOAD},
        private=existing.private or described.private,
    )
    try:
        yield existing
    except BaseException:
        row.update(**before)
        raise


def _build_load_options(descriptor: Descriptor) -> LoadOptions:
    return LoadOptions(
        member=RECORDS_NAME,
        types={field.name: field.type for field in descriptor.fields},
        key=descriptor.primary_key,
        drop_missing_fields=True,
        ignore_saved=True,
        force=True,
    )


def _check_fields(descriptor: Descriptor, table: StagedTable) -> None:
    """
    Check that the file has the fields that the descriptor names, before anything is published.

    Raises: ``LoadFailed`` with ``package.other_fields``.
    """
    if table.names != tuple(field.name for field in descriptor.fields):
        raise LoadFailed("package.other_fields")


def _describe_resource(described: Resource, descriptor: Descriptor, *, with_aliases: bool) -> None:
    """
    Write what the package says of the resource, once its records are there.

    How its next file is read is for this portal to say, so nothing of the import is saved.
    """
    connection = connections[router.db_for_write(Resource)]
    values = {name: getattr(described, name) for name in (*descriptor.values, "name")}
    with transaction.atomic(using=connection.alias):
        resource = Resource.objects.select_for_update().get(pk=described.pk)
        for name, value in {**values, "options": {}}.items():
            setattr(resource, name, value)
        resource.save(update_fields=[*values, "options", "modified_at"])
        if version := resource.table_version:
            version.origin = descriptor.origin
            version.save(update_fields=["origin"])
        _describe_fields(resource, descriptor)
        if with_aliases:
            set_aliases(connection, resource, descriptor.aliases)


def _describe_fields(resource: Resource, descriptor: Descriptor) -> None:
    described = {field.name: field for field in descriptor.fields}
    fields = list(resource.fields.all())
    for field in fields:
        field.chosen_type = ""
        for name in _FIELD_VALUES:
            setattr(field, name, getattr(described[field.name], name))
    names = ["chosen_type", *_FIELD_VALUES]
    Field.objects.bulk_update(fields, names, batch_size=_FIELDS_PER_STATEMENT)
