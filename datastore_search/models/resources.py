"""
What staff see of a table: the resource, its data dictionary and its loads.

The records themselves are in tables of their own (``storage``), one for each load; a resource
points to the load whose table is being served.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import PurePath
from typing import Any, ClassVar, LiteralString, Self

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import ValidationError
from django.core.files.storage import Storage, storages
from django.db import connections, models, router, transaction
from django.db.models.base import ModelBase
from django.db.models.functions import JSONObject
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from .. import storage
from ..conf import conf
from ..exceptions import InvalidAlias, UnknownResource, UnknownSearchLanguage
from ..exceptions.loads import BadRow, LoadFailed, Remark
from ..field_types import field_types
from ..object_permissions import Permitted, permitted
from ..routing import PrimaryManager

Reader = AbstractBaseUser | AnonymousUser

#: Letters of an alias at most, and so of any name under which a resource is asked for.
MAX_ALIAS_LENGTH = 200


def default_language() -> str:
    """Give the text search configuration of a new resource."""
    return conf.SEARCH_LANGUAGE


def validate_language(language: str) -> None:
    """
    Refuse what is no text search configuration of this PostgreSQL.

    Raises: ``ValidationError``.
    """
    connection = connections[router.db_for_write(Resource)]
    if language not in storage.search_languages(connection):
        raise ValidationError(str(UnknownSearchLanguage(language=language)))


class IndexKind(models.TextChoices):
    """What the table of a resource may be indexed by, beside its key."""

    FILTERS = "filters", _("the values of all fields")
    WORDS = "words", _("the words of all fields")
    NUMBERS = "numbers", _("the order of numbers")
    DATES = "dates", _("the order of dates and times")
    TEXTS = "texts", _("the order of short texts")


#: Fields of a table whose order is indexed, at most: each index costs time with each record.
_ORDERS_MOST = 32


class Version(models.Func):
    """
    The version of a resource, which changes with everything that an answer may depend on.

    It is the mark of the transaction that changed the resource last, where the row then lay, and
    when that was: after a restore another transaction of the new server may have the same mark.
    Triggers make every change of its fields and aliases a change of the resource, and a writer
    changes it with every record.
    """

    #: Reads the version of the resource whose id follows.
    read: LiteralString = (
        "SELECT concat(versioned.xmin, versioned.ctid, versioned.modified_at)"
        " FROM datastore_search_resource AS versioned WHERE versioned.id = "
    )
    template = f"({read}%(expressions)s)"
    output_field = models.TextField()


class Published(models.Model):
    """
    A row of which loading and writing own some fields, which a plain ``save`` leaves as they are.

    So an object that was read before a load cannot take back what the load has published.  They are
    changed by ``update``, or by ``save`` with their names in ``update_fields``.
    """

    #: The names of those fields.
    owned: ClassVar[frozenset[str]]

    class Meta:
        abstract = True

    def save(
        self,
        force_insert: bool | tuple[ModelBase, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Save the row; what is owned only if it is new, or named, or copied elsewhere."""
        is_copied = using is not None and using != self._state.db
        if update_fields is None and not (self._state.adding or force_insert or is_copied):
            update_fields = self._plain_fields()
        super().save(
            force_insert=force_insert,
            force_update=force_update,
            using=using,
            update_fields=update_fields,
        )

    save.alters_data = True  # type: ignore[attr-defined] # Django's mark

    def _plain_fields(self) -> list[str]:
        left = self.get_deferred_fields()
        return [
            field.name
            for field in self._meta.concrete_fields
            if not field.primary_key and field.name not in self.owned and field.attname not in left
        ]


class ResourceQuerySet(models.QuerySet["Resource"]):
    """Resources."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """
        Delete the resources and the tables of their records.

        Raises: ``WriteBlocked``.
        """
        with storage.write_transaction(connections[self.db], conf.LOCK_TIMEOUT):
            loads = list(Load.objects.using(self.db).filter(resource__in=self))
            deleted = super().delete()
            forget_on_commit(loads, using=self.db)
        return deleted

    delete.alters_data = True  # type: ignore[attr-defined] # Django's mark
    delete.queryset_only = True  # type: ignore[attr-defined] # Django's mark

    def permitted_to(self, user: Reader, *verbs: str, max_asked: int | None = None) -> Permitted:
        """Find the resources for which a user has one of some permissions (view, change)."""
        permissions = [f"datastore_search.{verb}_resource" for verb in verbs]
        return permitted(user, permissions, self, max_asked=max_asked)

    def readable_by(self, user: Reader) -> Permitted:
        """Find the resources whose records a user may read."""
        found = self.filter(private=True).permitted_to(user, "view")
        return replace(found, condition=models.Q(private=False) | found.condition)

    def named(self, name: uuid.UUID | str) -> Self:
        """Keep the resource that has an id or an alias; what is too long to be one names none."""
        resource_id = name if isinstance(name, uuid.UUID) else as_id(name)
        if resource_id is not None:
            return self.filter(pk=resource_id)
        if len(str(name)) > MAX_ALIAS_LENGTH:
            return self.none()
        return self.filter(aliases__name=name)

    def described(self, name: uuid.UUID | str) -> Resource:
        """
        Get a resource with its current load and fields, all of one moment.

        ``name`` is its id or an alias.  One statement reads them, so that a load that is being
        published is seen wholly or not at all.

        Raises: ``UnknownResource`` when there is none, or none that has been loaded.
        """
        resource = (
            self.named(name)
            .filter(current_load__isnull=False)
            .select_related("current_load")
            .defer(*(f"current_load__{name}" for name in _NOT_ASKED))
            .annotate(version=Version(models.F("pk")), columns=ArraySubquery(_columns()))
            .first()
        )
        if resource is None:
            raise UnknownResource(resource=name)
        rows = ({**row, "resource_id": resource.pk} for row in vars(resource).pop("columns"))
        names = _column_names()
        resource.schema = tuple(
            Field.from_db(self.db, names, [row[name] for name in names]) for row in rows
        )
        return resource


def _columns() -> models.QuerySet[Field, Any]:
    """Read the fields of each resource of an outer query as JSON, so that one row tells all."""
    columns = {name: name for name in _column_names() if name != "resource_id"}
    fields = Field.objects.filter(resource=models.OuterRef("pk")).order_by("position")
    return fields.values(column=JSONObject(**columns))


def _column_names() -> list[str]:
    return [field.attname for field in Field._meta.concrete_fields]  # noqa: SLF001 - Django's public name for it


#: What a load knows and no answer to a search says.
_NOT_ASKED = (
    "checksum", "field_formats", "fingerprint", "http_validators", "notices", "options", "preview",
    "profiles",
)  # fmt: skip

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def as_id(name: str) -> uuid.UUID | None:
    """Read the id of a resource; None for what can only be an alias."""
    return uuid.UUID(name) if _UUID.fullmatch(name) else None


def canonical_name(name: str) -> str:
    """Spell an id as the database does, so that it has one spelling; an alias stays as it is."""
    return name.lower() if _UUID.fullmatch(name) else name


class Resource(Published):
    """A table that a portal publishes."""

    owned = frozenset({"current_load", "primary_key", "options"})

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4)
    name = models.SlugField(
        _("name"),
        max_length=100,
        unique=True,
        help_text=_("Short, for addresses: letters, digits, hyphens and underscores."),
    )
    title = models.CharField(_("title"), max_length=300, blank=True)
    description = models.TextField(_("description"), blank=True)
    private = models.BooleanField(
        _("private"),
        default=False,
        help_text=_("Only users with the permission to view resources can read it."),
    )
    language = models.CharField(
        _("language of the search"),
        max_length=63,
        default=default_language,
        validators=[validate_language],
        help_text=_(
            "PostgreSQL’s text search configuration, such as “english” or “simple”. "
            "A change takes effect with the next load."
        ),
    )
    current_load = models.OneToOneField(
        "Load",
        models.SET_NULL,
        verbose_name=_("current load"),
        null=True,
        blank=True,
        editable=False,
        related_name="+",
    )
    primary_key = models.JSONField(
        _("primary key"),
        default=list,
        blank=True,
        editable=False,
        help_text=_("Names of the fields that no two records have the same values in."),
    )
    #: Null: as the setting says.
    indexes = models.JSONField(
        _("indexes"),
        null=True,
        blank=True,
        help_text=_(
            "What is found fast. Every index takes time with each load, and room. Without a choice "
            "the portal’s settings decide. A change takes effect with the next load."
        ),
    )
    #: How the next file is to be read, unless it is said anew: ``loading.LoadOptions`` as JSON.
    options = models.JSONField(default=dict, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    modified_at = models.DateTimeField(_("modified"), auto_now=True)

    objects = PrimaryManager.from_queryset(ResourceQuerySet)()

    #: The fields in order and the version of all this, when ``described`` has read them.
    schema: tuple[Field, ...]
    version: str

    class Meta:
        base_manager_name = "objects"
        verbose_name = _("resource")
        verbose_name_plural = _("resources")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.title or self.name

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """
        Delete the resource and the tables of its records.

        Raises: ``WriteBlocked``.
        """
        using = kwargs.get("using") or router.db_for_write(Resource, instance=self)
        with storage.write_transaction(connections[using], conf.LOCK_TIMEOUT):
            loads = list(self.loads.using(using))
            deleted = super().delete(*args, **kwargs)
            forget_on_commit(loads, using=using)
        return deleted

    delete.alters_data = True  # type: ignore[attr-defined] # Django's mark

    @property
    def has_table(self) -> bool:
        """Tell whether the table of the records is there, as it is not after ``loaddata``."""
        connection = connections[router.db_for_write(Resource, instance=self)]
        load_id = self.current_load_id
        return load_id is not None and storage.has_table(connection, load_id)

    @cached_property
    def infos(self) -> Mapping[str, Mapping[str, Any]]:
        """Give what the dictionary says about each field, once ``described`` has read it."""
        return {field.name: field.info for field in self.schema}

    def readable_by(self, user: Reader) -> bool:
        """Tell whether a user may read the records."""
        return not self.private or self.permits(user, "view")

    def permits(self, user: Reader, verb: str) -> bool:
        """
        Ask for a permission (view, add, change, delete) in general, then for this resource.

        Not every model of users has permissions, and those that have need not use Django's mixin.
        """
        has_perm = getattr(user, "has_perm", None)
        permission = f"datastore_search.{verb}_resource"
        return has_perm is not None and bool(has_perm(permission) or has_perm(permission, self))

    @property
    def index_kinds(self) -> list[str]:
        """What the next table is to be indexed by."""
        return list(conf.INDEXES if self.indexes is None else self.indexes)

    def wanted_indexes(self, names: Mapping[str, str]) -> storage.Indexes:
        """
        Say how the table is to be indexed.

        ``names`` maps the names of the fields whose values are short to those of their types.
        """
        kinds = self.index_kinds
        orders = [name for name, kind in names.items() if field_types[kind].ordered in kinds]
        return storage.Indexes(
            filters=IndexKind.FILTERS in kinds,
            words=IndexKind.WORDS in kinds,
            orders={name: field_types[names[name]].key for name in orders[:_ORDERS_MOST]},
        )


_NO_ALIAS = re.compile(r'[\x00-\x1f\x7f-\x9f"%]')


def check_alias(name: str) -> None:
    """
    Refuse what cannot be an alias.

    An underscore begins the names that the API itself gives, and an id looks like an id.

    Raises: ``InvalidAlias``.

    Source: CKAN, where an alias is the name of a table: no ``"`` and no ``%``.
    """
    fits = name == name.strip() and 0 < len(name) <= MAX_ALIAS_LENGTH
    if not fits or name.startswith("_") or as_id(name) or _NO_ALIAS.search(name):
        raise InvalidAlias(alias=name[:100])


def validate_alias(name: str) -> None:
    """
    Refuse what cannot be an alias, in a form.

    Raises: ``ValidationError``.
    """
    try:
        check_alias(name)
    except InvalidAlias as error:
        raise ValidationError(str(error)) from error


class Alias(models.Model):
    """Another name of a resource, which the API takes in place of its id."""

    resource = models.ForeignKey(
        Resource, models.CASCADE, verbose_name=_("resource"), related_name="aliases"
    )
    name = models.CharField(
        _("name"), max_length=MAX_ALIAS_LENGTH, unique=True, validators=[validate_alias]
    )

    objects = PrimaryManager()

    class Meta:
        base_manager_name = "objects"
        verbose_name = _("alias")
        verbose_name_plural = _("aliases")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


_LABEL_LETTERS = 500


class Field(Published):
    """A field of a resource, as the data dictionary describes it."""

    owned = frozenset({"name", "type", "position", "is_sparse", "has_order_index"})

    resource = models.ForeignKey(
        Resource, models.CASCADE, verbose_name=_("resource"), related_name="fields"
    )
    name = models.CharField(_("name"), max_length=500, editable=False)
    type = models.CharField(_("type"), max_length=63, editable=False)
    position = models.PositiveIntegerField(_("position"), editable=False)
    label = models.CharField(_("label"), max_length=_LABEL_LETTERS, blank=True)
    notes = models.TextField(_("notes"), blank=True)
    #: The records that were there before the field lack it: they have null without saying so.
    is_sparse = models.BooleanField(default=False, editable=False)
    #: The table has an index of the field's order.
    has_order_index = models.BooleanField(default=False, editable=False)
    #: The type that staff have chosen for this and the next loads, as ``--type`` takes it.
    chosen_type = models.CharField(_("type for the next load"), max_length=100, blank=True)
    #: What else a client has said about the field.
    extra_info = models.JSONField(default=dict, blank=True, editable=False)

    objects = PrimaryManager()

    class Meta:
        base_manager_name = "objects"
        verbose_name = _("field")
        verbose_name_plural = _("fields")
        ordering = ("position",)
        constraints = (
            models.UniqueConstraint(
                fields=("resource", "name"), name="datastore_search_field_name"
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def info(self) -> dict[str, Any]:
        """Give what the data dictionary says, in CKAN's words."""
        said = {"label": self.label, "notes": self.notes}
        return {**self.extra_info, **{name: text for name, text in said.items() if text}}

    @info.setter
    def info(self, info: Mapping[str, Any]) -> None:
        label, notes = info.get("label"), info.get("notes")
        self.label = label if isinstance(label, str) and len(label) <= _LABEL_LETTERS else ""
        self.notes = notes if isinstance(notes, str) else ""
        said = {"label": self.label, "notes": self.notes}
        # What staff cannot edit is kept as it is.
        self.extra_info = {name: value for name, value in info.items() if not said.get(name)}


class LoadState(models.TextChoices):
    """
    How far a load is.

    A draft has its file and its options, and waits for somebody to say that it be loaded.
    """

    DRAFT = "draft", _("draft")
    QUEUED = "queued", _("queued")
    READING = "reading", _("reading")
    COPYING = "copying", _("copying")
    INDEXING = "indexing", _("indexing")
    READY = "ready", _("ready")
    UNCHANGED = "unchanged", _("unchanged")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


#: A load in one of these states is over.
FINISHED = frozenset({LoadState.READY, LoadState.UNCHANGED, LoadState.FAILED, LoadState.CANCELLED})


#: A process is at work on a load in one of these states, or was when it was killed.
RUNNING = frozenset({LoadState.READING, LoadState.COPYING, LoadState.INDEXING})

#: From so much of the work can be told how long the rest will take.
_ESTIMABLE = 0.15


class Mode(models.TextChoices):
    """What becomes of the records that are there."""

    REPLACE = "replace", _("replace the records")
    APPEND = "append", _("add to the records")
    UPSERT = "upsert", _("update by key, add the others")


class Origin(models.TextChoices):
    """Where the records come from: only those of the API may be written to without ``force``."""

    FILE = "file", _("file")
    API = "api", _("API")


#: The folder of uploads, within their storage.
UPLOADS = "datastore_search"


def upload_storage() -> Storage:
    """Give the storage of uploads: that of the portal's name for it, or its usual one."""
    alias = conf.UPLOADS_STORAGE
    return storages[alias if alias in storages.backends else "default"]


def upload_name(load: Load, filename: str) -> str:
    """Name an upload so that nobody can guess it: the storage may be open to the public."""
    return f"{UPLOADS}/{secrets.token_urlsafe(24)}{PurePath(filename).suffix[:20]}"


class Load(Published):
    """
    One run of loading a file into a resource, and the table that it made.

    What is loaded is ``file`` (an upload, kept until the load is ready), or ``url``, or a path that
    only the process that began the load knows.
    """

    owned = frozenset({
        "state", "checksum", "http_validators", "fingerprint", "field_formats", "rows",
        "value_counts", "rows_written", "rows_total", "progress", "heartbeat_at",
        "cancel_requested_at", "notices", "row_error_count", "profiles", "failure", "started_at",
        "finished_at",
    })  # fmt: skip

    resource = models.ForeignKey(
        Resource, models.CASCADE, verbose_name=_("resource"), related_name="loads"
    )
    state = models.CharField(_("state"), max_length=20, choices=LoadState, default=LoadState.QUEUED)
    mode = models.CharField(_("mode"), max_length=10, choices=Mode, default=Mode.REPLACE)
    origin = models.CharField(_("origin"), max_length=10, choices=Origin, default=Origin.FILE)
    source = models.CharField(_("source"), max_length=500)
    file = models.FileField(
        _("file"),
        max_length=500,
        storage=upload_storage,
        upload_to=upload_name,
        blank=True,
        editable=False,
    )
    url = models.TextField(_("address"), blank=True, editable=False)
    #: What the server of the address said of the file (``fetching.Fetched.received``).
    http_validators = models.JSONField(default=dict, editable=False)
    #: SHA-256 of the file, in hexadecimal.
    checksum = models.CharField(max_length=64, blank=True, editable=False)
    #: What the records were made of, as a digest; empty once anything else has changed them.
    fingerprint = models.CharField(max_length=64, blank=True, editable=False)
    #: The form in which the file wrote the values of each field (``loading.forms``), by its name.
    field_formats = models.JSONField(default=dict, editable=False)
    #: How the file is to be read: ``loading.LoadOptions`` as JSON.
    options = models.JSONField(default=dict, blank=True, editable=False)
    language = models.CharField(_("language of the search"), max_length=63)
    rows = models.BigIntegerField(_("records"), default=0)
    #: What the table is indexed by.
    indexes = models.JSONField(default=list, editable=False)
    #: How many records have the common values of some fields, by field and value as JSON text.
    value_counts = models.JSONField(default=dict, editable=False)
    #: Records written so far, and all there are; null while nobody knows.
    rows_written = models.BigIntegerField(default=0, editable=False)
    rows_total = models.BigIntegerField(null=True, editable=False)
    #: How much of the whole work is done, from 0 to 1.
    progress = models.FloatField(default=0, editable=False)
    #: When the process that runs the load was last heard of.
    heartbeat_at = models.DateTimeField(null=True, editable=False)
    cancel_requested_at = models.DateTimeField(null=True, editable=False)
    #: What a person should know of how the file was read: kept ``Remark``s.
    notices = models.JSONField(default=list, editable=False)
    #: How many rows could not be loaded; the first of them are the load's ``row_errors``.
    row_error_count = models.BigIntegerField(_("bad rows"), default=0, editable=False)
    #: What the values of each field are like, by its name (``loading.profiles``).
    profiles = models.JSONField(default=dict, editable=False)
    #: What was found in the file of a draft: a kept ``loading.Preview``; null until then.
    preview = models.JSONField(null=True, editable=False)
    failure = models.JSONField(null=True, blank=True, editable=False)
    #: When the load, or the look at a draft, was queued for a worker.
    queued_at = models.DateTimeField(null=True, editable=False)
    started_at = models.DateTimeField(_("began"), null=True, editable=False)
    created_at = models.DateTimeField(_("started"), auto_now_add=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    objects = PrimaryManager()

    class Meta:
        base_manager_name = "objects"
        verbose_name = _("load")
        verbose_name_plural = _("loads")
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.source} ({self.get_state_display()})"

    def save(
        self,
        force_insert: bool | tuple[ModelBase, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Save the load; a new one gets a number that no table has."""
        if self._state.adding and self.pk is None:
            alias = using or router.db_for_write(Load, instance=self)
            self.pk = storage.next_load_id(connections[alias], self._meta.db_table)
            force_insert = force_insert or True
        super().save(force_insert, force_update, using, update_fields)

    save.alters_data = True  # type: ignore[attr-defined] # Django's mark

    @property
    def error(self) -> str:
        """Say why the load failed, in the reader's language; nothing if it did not."""
        return str(LoadFailed.revived(self.failure)) if self.failure else ""

    @property
    def is_finished(self) -> bool:
        """Tell whether the load is over."""
        return self.state in FINISHED

    @property
    def is_waiting(self) -> bool:
        """Tell whether no process has begun with the load."""
        return self.state == LoadState.DRAFT or (
            self.state == LoadState.QUEUED and self.started_at is None
        )

    @property
    def untaken_for(self) -> timedelta | None:
        """Say for how long no worker has taken what is queued; None when nothing waits for one."""
        if self.state == LoadState.DRAFT and self.preview is None:
            is_taken = (
                self.heartbeat_at is not None
                and self.queued_at
                and self.heartbeat_at >= self.queued_at
            )
        else:
            is_taken = not (self.state == LoadState.QUEUED and self.started_at is None)
        return None if is_taken or self.queued_at is None else timezone.now() - self.queued_at

    @property
    def can_be_retried(self) -> bool:
        """Tell whether the load is over and what it loaded can be had again."""
        return self.is_finished and bool(self.file or self.url)

    @property
    def percentage(self) -> int | None:
        """Say how much of the work is done; None while nothing of it is known."""
        if self.state in {LoadState.READY, LoadState.UNCHANGED}:
            return 100
        is_running = self.state in RUNNING
        return min(99, int(self.progress * 100)) if is_running and self.progress else None

    @property
    def remaining(self) -> timedelta | None:
        """Estimate how much longer the load will take; None while nobody can know."""
        is_known = self.state in RUNNING and self.progress >= _ESTIMABLE
        if not (is_known and self.started_at and self.heartbeat_at):
            return None
        return (self.heartbeat_at - self.started_at) * (1 / self.progress - 1)

    @property
    def said(self) -> list[str]:
        """Say what a person should know of how the file was read, in the reader's language."""
        revived = (Remark.revived(remark) for remark in self.notices)
        return [str(remark) for remark in revived if remark]


@dataclass(frozen=True, slots=True)
class Profiles:
    """
    What the values of a table's fields are like, by name: see ``loading.profiles``.

    ``records`` were looked at, at the moment ``made``; not ``is_current`` when any have changed
    since.
    """

    fields: Mapping[str, Mapping[str, Any]]
    records: int
    made: datetime
    is_current: bool


def kept_profiles(load_id: int | None, *, using: str) -> Profiles | None:
    """Read the profiles of a load's table, which nothing that searches needs, from a database."""
    if load_id is None:
        return None
    wanted = Load.objects.using(using).filter(pk=load_id)
    found = wanted.values_list("profiles", "fingerprint", "rows").first()
    profiles, fingerprint, rows = found or ({}, "", 0)
    if not profiles:
        return None
    return Profiles(
        profiles["fields"],
        profiles["records"],
        datetime.fromisoformat(profiles["made"]),
        is_current=(profiles["of"], profiles["records"]) == (fingerprint, rows),
    )


class RowError(models.Model):
    """A row of a file that could not be loaded, and why."""

    load = models.ForeignKey(Load, models.CASCADE, related_name="row_errors")
    line = models.BigIntegerField(_("line"))
    field = models.TextField(_("field"), blank=True)
    value = models.TextField(_("value"), blank=True)
    #: Why, as JSON: a kept ``BadRow``.
    message = models.JSONField()

    objects = PrimaryManager()

    class Meta:
        base_manager_name = "objects"
        verbose_name = _("bad row")
        verbose_name_plural = _("bad rows")
        ordering = ("load", "line", "pk")

    def __str__(self) -> str:
        return f"{self.line}: {self.reason}"

    @property
    def reason(self) -> str:
        """Say why the row could not be loaded, in the reader's language."""
        return str(BadRow.revived(self.message) or "")


#: Since then a table is not served that the next clean-up may drop.
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def forget_on_commit(loads: Iterable[Load], *, using: str) -> None:
    """Drop the tables of deleted loads, and their files, as soon as nothing can take it back."""
    known = list(loads)
    drop_on_commit([load.pk for load in known], using=using)
    for name in (load.file.name for load in known):
        if name:
            # A file that a storage does not delete now is deleted by a later clean-up.
            transaction.on_commit(partial(upload_storage().delete, name), using=using, robust=True)


def drop_on_commit(load_ids: Iterable[int], *, using: str) -> None:
    """Drop the tables of some loads as soon as nothing can take it back."""

    def drop() -> None:
        for load_id in load_ids:
            if not storage.drop_records(connections[using], load_id):
                storage.note_unserved(connections[using], load_id, _LONG_AGO)

    transaction.on_commit(drop, using=using)
