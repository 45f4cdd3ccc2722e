"""
``resource_create``, ``_update``, ``_patch`` and ``_delete``, and the metadata that they take.

They change the metadata of a resource; ``datastore_create`` makes its table.  A resource of a
published dataset keeps every member that CKAN keeps; one that is a dataset of its own has columns.

Source: CKAN's actions of these names.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from django.contrib.postgres.validators import ArrayMaxLengthValidator
from django.db import connections, router
from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from ...api.actions.action import Action, Answer, build_action, write_time
from ...api.authentication import check_may_write, get_reader
from ...api.new_resources import (
    CatalogueOfResources,
    NewResourceMembers,
    ResourceMembers,
    add_resource,
    copy_members,
    read_resource_values,
    read_translations,
    refuse_other_members,
)
from ...api.parameters import (
    BooleanField,
    ParameterField,
    ResourceIdField,
    ResourceNameParameters,
    make_printable,
    parse_json,
)
from ...api.uploads import get_upload, uploads
from ...database.statements import RowToLock, begin_write_transaction
from ...field_types import is_storable
from ...messages.access import UnknownResource
from ...messages.parameters import InvalidParameter
from ...messages.requests import MalformedJson
from ...models import Resource
from ...web.addresses import ResourceAddresses
from .access import is_shown, lock_changeable
from .datasets import find_resource, open_readable_datasets
from .descriptions import METADATA, describe_resource, get_metadata_field
from .groups import find_owner_org
from .models import MAX_TAGS, Dataset, build_organization, get_metadata


class MetadataField(ParameterField):
    """A text that the model's field of this name checks; an empty one means no value."""

    def __init__(self, name: str, **options: Any) -> None:
        self.name = name
        super().__init__(**options)

    limit_text = _("At most {most} characters.")

    def get_limit(self) -> int | None:
        most: int | None = get_metadata_field(self.name).max_length
        return most

    def to_internal_value(self, data: object) -> Any:
        field, value = get_metadata_field(self.name), self.clean(data)
        return field.clean(value, None) if value else field.get_default()

    def clean(self, data: object) -> Any:
        """Check the kind: a field of Django's reads JSON out of a text, and fails on a number."""
        if not isinstance(data, str):
            self.fail("invalid")
        return data.strip()


class TagsField(MetadataField):
    json_schema = {"type": "array", "items": {"type": "string"}, "maxItems": MAX_TAGS}
    default_error_messages = {"invalid": _("Must be a list of texts.")}

    def describe_limit(self) -> str:
        field: Any = get_metadata_field(self.name)
        most, length = field.size, field.base_field.max_length
        return str(_("At most {most} texts of {length} characters.")).format(
            most=most, length=length
        )

    def clean(self, data: object) -> list[str]:
        if isinstance(data, str) and data.lstrip()[:1] == "[":
            with suppress(MalformedJson):
                data = parse_json(data)
        if data == "":
            return []
        if not isinstance(data, list) or not all(isinstance(each, str) for each in data):
            self.fail("invalid")
        ArrayMaxLengthValidator(MAX_TAGS)(data)  # empty texts count, too
        return list(dict.fromkeys(text for text in map(str.strip, data) if text))


# Members ------------------------------------------------------------------------------------------


class MetadataMembers(ResourceMembers):
    owner_org = ResourceIdField(
        help_text=_("The organization that owns it, by its id or name; its members have roles.")
    )
    vars().update(
        {
            name: (TagsField if name == "tags" else MetadataField)(name, help_text=text)
            for name, text in METADATA.items()
        }
    )


class NewMembers(MetadataMembers, NewResourceMembers):
    url = MetadataField(
        "source", help_text=_("The address of the data; without a `package_id`, the `source`.")
    )

    @classmethod
    def parse(cls, sent: Mapping[str, object]) -> dict[str, Any]:
        """Parse the members; a ``url`` is no ``source`` of a resource in a published dataset."""
        is_part = bool(sent.get("package_id"))
        return super().parse({name: sent[name] for name in sent if name != "url" or not is_part})

    @classmethod
    def list_stored(cls, sent: Mapping[str, object], /) -> set[str]:
        """List all members; a ``url`` is not stored if there is another ``source``."""
        has_both = sent.get("source") not in (None, "", sent.get("url"))
        return super().list_stored(sent) - ({"url"} if has_both else set())


class ChangedMembers(ResourceNameParameters, MetadataMembers):
    private = BooleanField(
        help_text=_(
            "Whether only users with the permission may read the resource. If not given, "
            "this is not changed."
        )
    )


# What CKAN keeps of a published dataset or resource -----------------------------------------------

MAX_RESOURCES: Final = 1_000

#: The size of the members of one dataset or resource that have no column, as JSON.
MAX_MEMBERS_BYTES: Final = 100_000

#: What CKAN keeps in an update that does not name it; other members are dropped.
_KEPT: Final = {
    *("cache_last_updated", "cache_url", "created", "format", "hash", "last_modified", "mimetype"),
    *("mimetype_inner", "resource_type", "size", "url_type"),
}

#: What is derived, or has a column, or is for the action alone.
_DERIVED: Final = {
    *("id", "package_id", "position", "state", "datastore_active", "metadata_modified", "name"),
    *("description", "content_language", "private", "upload", "clear_upload", "force", *METADATA),
    "datastore_load",
    "owner_org",
}

#: Formats that CKAN does not write in capitals, and those that it does.  Source: its
#: ``resource_formats.json``.
_FORMATS: Final = {"geojson": "GeoJSON", "excel": "XLS"} | {
    name.lower(): name
    for name in (
        *("CSV", "TSV", "JSON", "XML", "PDF", "XLS", "XLSX", "ODS", "ZIP", "SHP", "KML", "KMZ"),
        *("HTML", "TXT", "DOC", "DOCX", "PPT", "PPTX", "ODT", "RDF", "WMS", "WFS", "WMTS", "PNG"),
        *("JPEG", "GIF", "TIFF", "GPKG", "GML", "PARQUET", "RAR", "TAR", "SQL", "DXF"),
    )
}
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class TooManyResources(InvalidParameter):
    parameter = "package_id"
    message = _("The dataset has %(most)s resources, and can have no more.")


def _read_members(
    sent: Mapping[str, Any], stored: Mapping[str, Any], *, is_complete: bool
) -> dict[str, Any]:
    """Read the members of a resource that CKAN keeps, and guess its format and media type."""
    translated = {name for name in sent if name.startswith(("name_", "description_"))}
    new = copy_members(sent, _DERIVED | translated, MAX_MEMBERS_BYTES)
    old = {name: value for name, value in stored.items() if not is_complete or name in _KEPT}
    errors: dict[str, list[Any]] = {}
    for name in new.keys() & _READERS.keys():
        read, reason = _READERS[name]
        try:
            new[name] = read(new[name]) if new[name] not in (None, "") else None
        except (TypeError, ValueError, OverflowError):
            errors[name] = [reason]
    if errors:
        raise serializers.ValidationError(errors)
    if "url" in new or is_complete:
        new |= _read_address(new, {**old, **new}, str(stored.get("url") or ""))
    if isinstance(new.get("format"), str):
        new["format"] = _FORMATS.get(new["format"].lower(), new["format"])
    return {**old, **new}


def _read_address(
    new: Mapping[str, Any], members: Mapping[str, Any], stored_url: str
) -> dict[str, Any]:
    """Read ``url`` as CKAN does: the name of an upload, or an address; and what it says of both."""
    url, read = str(new.get("url") or "").strip(), dict[str, Any]()
    is_file = members.get("url_type") == "upload"
    if is_file and "url_type" not in new and "/" in url and "/download/" not in url:
        is_file, read["url_type"] = False, None  # the address of another file
    if is_file:
        url = url.rpartition("/")[2] or stored_url
    elif url and not _SCHEME.match(url):
        url = f"http://{url}"
    name = url.partition("?")[0].rpartition("/")[2]
    if url != stored_url and not new.get("mimetype"):
        read["mimetype"] = mimetypes.guess_type(name)[0]
    if not members.get("format") and "." in name:
        read["format"] = _FORMATS.get(name.rpartition(".")[2].lower(), "")
    return {**read, "url": url}


def _read_time(value: object) -> str:
    moment = datetime.fromisoformat(str(value))
    moment = moment.astimezone(UTC) if moment.tzinfo else moment
    return moment.replace(tzinfo=None).isoformat()


#: How members with a type are read, and the message where they cannot be.
_READERS: Final[Mapping[str, tuple[Callable[[Any], Any], Promise]]] = {
    **{
        name: (_read_time, _("Date format incorrect"))
        for name in ("cache_last_updated", "created", "last_modified")
    },
    "size": (int, _("Invalid integer")),
}


# resource_create ----------------------------------------------------------------------------------


@build_action(
    NewMembers,
    _("Create a resource without records, in a dataset or as one of its own."),
    is_writing=True,
    takes_file=True,
)
def _resource_create(request: Request, sent: Mapping[str, object]) -> Answer:
    check_may_add(request, sent)
    with begin_write_transaction(connections[router.db_for_write(Resource)]):
        resource = add_resource(request, sent)
    return Answer(show_resource(request, resource))


def check_may_add(request: Request, sent: Mapping[str, Any]) -> None:
    """Check the right to add to a ``package_id`` or an ``owner_org``.  Raises: ``AccessDenied``."""
    new, name, home = Resource(), sent.get("package_id"), None
    if isinstance(name, str) and is_storable(name):
        rows = Dataset.objects.filter(Q(pk=name) | Q(name=name), resource=None)
        home = rows.order_by("state", "-modified_at").first()
    # An unknown dataset is refused as a private one.
    sent_owner = None if name else sent.get("owner_org")
    owner = home.owner_org if home else find_owner_org(request, sent_owner)
    new.dataset = Dataset(owner_org=owner)
    check_may_write(request, new, "", "add")


def place_resource(resource: Resource, dataset: Dataset) -> None:
    """Put a new resource at the end of a dataset.  Raises: ``TooManyResources``."""
    parts = Dataset.objects.filter(part_of=dataset)
    count, last = parts.aggregate(count=Count("pk"), last=Max("position")).values()
    if count >= MAX_RESOURCES:
        raise TooManyResources(most=MAX_RESOURCES)
    row = get_metadata(resource)
    row.part_of, row.position, row.members = dataset, 0 if last is None else last + 1, {}
    row.save(update_fields=["part_of", "position", "members"])
    touch_dataset(dataset.pk)


def is_published(resource: Resource) -> bool:
    """Return whether a resource is part of a published dataset."""
    return get_metadata(resource).members is not None


# resource_update, resource_patch, resource_delete -------------------------------------------------


def _change(request: Request, sent: Mapping[str, object], *, is_complete: bool) -> Answer:
    parameters = ChangedMembers.parse(sent)
    with _lock_resource(request, str(parameters["id"])) as resource:
        change_resource(request, resource, sent, parameters, is_complete=is_complete)
        touch_dataset(get_metadata(resource).part_of_id)
    return Answer(show_resource(request, resource))


@contextmanager
def _lock_resource(request: Request, name: str, verb: str = "change") -> Iterator[Resource]:
    """
    Find a resource that the user may change, and lock it, after the dataset that it is in.

    Raises: ``UnknownResource``; ``AccessDenied``; ``WriteBlocked``.
    """
    using = router.db_for_write(Resource)
    found = find_resource(Resource.objects.all(), name)
    if found and not is_shown(found, get_reader(request)):
        found = None
    known = check_may_write(request, found, name, verb)
    dataset_id = get_metadata(known).part_of_id
    dataset = RowToLock(Dataset._meta.db_table, dataset_id) if dataset_id else None
    row = RowToLock(Resource._meta.db_table, known.pk)
    with (
        begin_write_transaction(connections[using], dataset or row),
        begin_write_transaction(connections[using], row) as is_found,
    ):
        resource = find_resource(Resource.objects.all(), str(known.pk)) if is_found else None
        if resource is None:
            raise UnknownResource(resource=make_printable(name))
        yield resource


def touch_dataset(dataset_id: str | None) -> None:
    """Give a published dataset another time and version."""
    dataset, now = Dataset.objects.filter(pk=dataset_id, members__isnull=False), timezone.now()
    dataset.update(metadata_modified=now, modified_at=now)


def change_resource(
    request: Request,
    resource: Resource,
    sent: Mapping[str, object],
    parameters: Mapping[str, Any],
    *,
    is_complete: bool,
) -> None:
    """Change a resource that is locked, by the members that were sent, and parsed."""
    using, members = router.db_for_write(Resource), get_metadata(resource).members
    if members is None and not get_upload(sent):
        shown = show_resource(request, resource)
        # Two times that were the same, and the address of the dump in another language, were shown.
        accepted = ChangedMembers.list_stored(sent) | _OF_PUSHERS
        if sent.get(_TIMES[0]) == sent.get(_TIMES[1]):
            accepted.update(_TIMES)
        if str(sent.get("url", "")).endswith(f"/{resource.pk}"):
            accepted.add("url")
        refuse_other_members(sent, shown, accepted)
    elif members is not None and resource.table_version:
        # A time that is sent back as it was shown of a table goes on to follow its records.
        modified, time = write_time(resource.modified_at), "last_modified"
        if sent.get(time) == modified != members.get(time):
            sent = {name: value for name, value in sent.items() if name != time}
    values = read_resource_values(sent, parameters, is_complete=is_complete)
    if "private" in parameters and not get_metadata(resource).part_of_id:
        values["private"] = parameters["private"]
    values["translations"] = {**resource.translations}
    for language, texts in read_translations(sent).items():
        values["translations"][language] = {**resource.translations.get(language, {}), **texts}
    # What was shown may be a translation, or the name in place of a title.
    local = {"title": resource.local_title.text, "description": resource.local_description.text}
    values = {
        column: value
        for column, value in values.items()
        if value != getattr(resource, column) and (column not in local or value != local[column])
    }
    for column, value in values.items():
        setattr(resource, column, value)
    if values:
        resource.save(using=using, update_fields=[*values, "modified_at"])
    store_metadata(request, resource, sent, parameters, is_complete=is_complete)


@build_action(ResourceNameParameters, _("Delete a resource with its records."), is_writing=True)
def _resource_delete(request: Request, sent: Mapping[str, object]) -> Answer:
    name = str(ResourceNameParameters.parse(sent)["id"])
    with _lock_resource(request, name, "delete") as resource:
        touch_dataset(get_metadata(resource).part_of_id)
        resource.delete()
    return Answer(None)


#: What pushers send as it was shown some time ago, or with their own values.
_OF_PUSHERS = frozenset({"datastore_active", "datastore_load", "force", "hash", "url_type"})
_TIMES = ("last_modified", "metadata_modified")


def store_metadata(
    request: Request,
    resource: Resource,
    sent: Mapping[str, object],
    parsed: Mapping[str, Any],
    *,
    is_complete: bool = False,
) -> None:
    """
    Store the metadata that differ; the resource then has another version.

    A member without a value empties its field; if the members are complete, so does one that was
    not sent.
    """
    row, file = get_metadata(resource), get_upload(sent)
    values = {
        name: parsed.get(name, get_metadata_field(name).get_default())
        for name in METADATA
        if is_complete or name in sent
    }
    if file or row.members is not None:
        members = _read_members(sent, row.members or {}, is_complete=is_complete)
        received = uploads.entry.receive(request, resource, file, members)
        values["members"] = {**members, **received}
    elif parsed.get("url") and not values.get("source"):
        values["source"] = parsed["url"]
    if "owner_org" in sent and not row.part_of_id:
        name = parsed.get("owner_org")
        values["owner_org"] = find_owner_org(request, name, row.owner_org_id, is_locked=True)
        if name and not values["owner_org"]:
            raise serializers.ValidationError({"owner_org": [_("Organization does not exist")]})
    changes = {name: value for name, value in values.items() if value != getattr(row, name)}
    if publisher := changes.get("publisher"):
        # An organization with members lists what names it.
        find_owner_org(request, build_organization(publisher).name, row.owner_org_id)
    for name, value in changes.items():
        setattr(row, name, value)
    if changes:
        using = router.db_for_write(Resource)
        row.save(using=using)
        resource.refresh_from_db(using, ["modified_at", "version"])


def show_resource(request: Request, resource: Resource) -> dict[str, Any]:
    using = router.db_for_write(Resource)
    places = open_readable_datasets(using, get_reader(request)).locate([resource])
    described = describe_resource(resource, ResourceAddresses(request), places[resource.pk])
    return {**described, **uploads.entry.describe(request, resource)}


_UPDATE = _("Replace the description of a resource: members that are not sent are emptied.")
_PATCH = _("Change the description of a resource: members that are not sent stay.")

_build_change = partial(Action, parameters=ChangedMembers, is_writing=True, takes_file=True)

resource_actions = (
    _resource_create,
    _build_change("resource_update", run=partial(_change, is_complete=True), help=_UPDATE),
    _build_change("resource_patch", run=partial(_change, is_complete=False), help=_PATCH),
    _resource_delete,
)

catalogue_of_resources = CatalogueOfResources(
    NewMembers,
    show_resource,
    partial(lock_changeable, parameter="package_id"),
    place_resource,
    store_metadata,
    check_may_add,
    is_published,
)
