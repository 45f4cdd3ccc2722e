"""
What staff see of a table: the resource, its data dictionary and its loads.

The records themselves are in tables of their own (``storage``), one for each load; a resource
points to the load whose table is being served.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, Self

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import connections, models, router, transaction
from django.utils.translation import gettext_lazy as _

from . import storage
from .conf import conf
from .exceptions import LoadFailed, UnknownResource, UnknownSearchLanguage

Reader = AbstractBaseUser | AnonymousUser


def default_language() -> str:
    """Give the text search configuration of a new resource."""
    return conf.SEARCH_LANGUAGE


def validate_language(language: str) -> None:
    """
    Refuse what is no text search configuration of this PostgreSQL.

    Raises: ``ValidationError``.
    """
    connection = connections[router.db_for_read(Resource)]
    if language not in storage.search_languages(connection):
        raise ValidationError(str(UnknownSearchLanguage(language=language)))


class ResourceQuerySet(models.QuerySet["Resource"]):
    """Resources."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the resources and the tables of their records."""
        with transaction.atomic(using=self.db):
            load_ids = list(Load.objects.filter(resource__in=self).values_list("pk", flat=True))
            deleted = super().delete()
            _drop_on_commit(load_ids, using=self.db)
        return deleted

    delete.alters_data = True  # type: ignore[attr-defined] # Django's mark
    delete.queryset_only = True  # type: ignore[attr-defined] # Django's mark

    def readable_by(self, user: Reader) -> Self:
        """Keep the resources whose records a user may read; each private one is asked about."""
        private = [found.pk for found in self.filter(private=True) if found.readable_by(user)]
        return self.filter(models.Q(private=False) | models.Q(pk__in=private))

    def described(self, resource_id: uuid.UUID) -> Resource:
        """
        Get a resource with its current load and fields, all of one moment.

        One statement reads them, so that a load that is being published is seen wholly or not at
        all.

        Raises: ``UnknownResource`` when there is none, or none that has been loaded.
        """
        fields = list(
            Field.objects.using(self.db)
            .filter(resource=resource_id, resource__current_load__isnull=False)
            .select_related("resource__current_load")
            .order_by("position")
        )
        if not fields:
            raise UnknownResource(resource=resource_id)
        resource = fields[0].resource
        resource.schema = tuple(fields)
        return resource


class Resource(models.Model):
    """A table that a portal publishes."""

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
    created = models.DateTimeField(_("created"), auto_now_add=True)
    modified = models.DateTimeField(_("modified"), auto_now=True)

    objects = ResourceQuerySet.as_manager()

    #: The fields in order, when ``described`` has read them.
    schema: tuple[Field, ...]

    class Meta:
        verbose_name = _("resource")
        verbose_name_plural = _("resources")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.title or self.name

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the resource and the tables of its records."""
        using = kwargs.get("using") or router.db_for_write(Resource, instance=self)
        with transaction.atomic(using=using):
            load_ids = list(self.loads.values_list("pk", flat=True))
            deleted = super().delete(*args, **kwargs)
            _drop_on_commit(load_ids, using=using)
        return deleted

    delete.alters_data = True  # type: ignore[attr-defined] # Django's mark

    def readable_by(self, user: Reader) -> bool:
        """Tell whether a user may read the records."""
        return not self.private or _has_permission(user, "view", self)


class Field(models.Model):
    """A field of a resource, as the data dictionary describes it."""

    resource = models.ForeignKey(
        Resource, models.CASCADE, verbose_name=_("resource"), related_name="fields"
    )
    name = models.CharField(_("name"), max_length=500, editable=False)
    type = models.CharField(_("type"), max_length=63, editable=False)
    position = models.PositiveIntegerField(_("position"), editable=False)
    label = models.CharField(_("label"), max_length=500, blank=True)
    notes = models.TextField(_("notes"), blank=True)

    class Meta:
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


class LoadState(models.TextChoices):
    """How far a load is."""

    READING = "reading", _("reading")
    COPYING = "copying", _("copying")
    INDEXING = "indexing", _("indexing")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")


class Load(models.Model):
    """One run of loading a file into a resource, and the table that it made."""

    resource = models.ForeignKey(
        Resource, models.CASCADE, verbose_name=_("resource"), related_name="loads"
    )
    state = models.CharField(
        _("state"), max_length=20, choices=LoadState, default=LoadState.READING
    )
    source = models.CharField(_("source"), max_length=500)
    language = models.CharField(_("language of the search"), max_length=63)
    rows = models.BigIntegerField(_("records"), default=0)
    failure = models.JSONField(null=True, blank=True, editable=False)
    started = models.DateTimeField(_("started"), auto_now_add=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("load")
        verbose_name_plural = _("loads")
        ordering = ("-started", "-pk")

    def __str__(self) -> str:
        return f"{self.source} ({self.get_state_display()})"

    @property
    def error(self) -> str:
        """Say why the load failed, in the reader's language; nothing if it did not."""
        return str(LoadFailed.revived(self.failure)) if self.failure else ""


def _has_permission(user: Reader, verb: str, resource: Resource) -> bool:
    """Ask for a permission in general, then for this very resource."""
    if not isinstance(user, PermissionsMixin | AnonymousUser):
        return False
    permission = f"datastore_search.{verb}_resource"
    return user.has_perm(permission) or user.has_perm(permission, resource)


def _drop_on_commit(load_ids: Iterable[int], *, using: str) -> None:
    def drop() -> None:
        for load_id in load_ids:
            storage.drop_records(connections[using], load_id)

    transaction.on_commit(drop, using=using)
