"""Datasets: what is published, with its metadata, in one or several resources; their groups."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar, Final, Self

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.core.checks import CheckMessage
from django.core.exceptions import ValidationError
from django.core.validators import (
    MaxLengthValidator,
    MinLengthValidator,
    RegexValidator,
    URLValidator,
)
from django.db import models, router
from django.db.models.functions import Now
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils.text import slugify
from django.utils.timezone import is_naive
from django.utils.translation import gettext_lazy as _

from ...messages.texts import show_bidi_controls
from ...models import MAX_TITLE_LENGTH, LocalText, Resource, validate_content_language
from ...models.base import GuardedModel, PrimaryManager
from ...models.translations import choose_text, validate_translations

#: Of an organization or a group: of its description, which each of its datasets and every list
#: have, and of the JSON of its extras.
MAX_GROUP_LENGTHS: Final = {"description": 10_000, "extras": 100_000}

#: Of a dataset; each costs room in every description.
MAX_TAGS: Final = 50

#: The trigger that inserts a row for each new resource leaves these columns out.
_TEXT: Final[dict[str, Any]] = {"blank": True, "default": "", "db_default": ""}
_LIST: Final[dict[str, Any]] = {"blank": True, "default": list, "db_default": []}
_OBJECT: Final[dict[str, Any]] = {"blank": True, "default": dict, "db_default": {}}

_SPDX_ID: Final = re.compile(r"[A-Za-z0-9.+-]{1,100}")


def validate_license(text: str) -> None:
    """Refuse what is neither an SPDX id nor an address."""
    if _SPDX_ID.fullmatch(text) is None:
        try:
            URLValidator(schemes=("https", "http"))(text)
        except ValidationError as error:
            raise ValidationError(_("This is neither an SPDX id nor an address.")) from error


class TextArrayField(ArrayField):
    """
    Django's field, in portals without ``django.contrib.postgres`` in ``INSTALLED_APPS`` too.

    From Django 6.0 on ``ArrayField`` asks for that app.  It registers lookups of texts and types
    of HStore, which an array of texts does not need.  Migrations contain Django's own field.
    """

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return [error for error in super().check(**kwargs) if error.id != "postgres.E005"]

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        name, _path, arguments, options = super().deconstruct()
        return name, "django.contrib.postgres.fields.ArrayField", arguments, options


# Organizations and groups -------------------------------------------------------------------------

_NAMESPACE: Final = uuid.UUID("3a4d6d0e-9c0c-5d0e-8f1e-6a7f0a1f2c11")


@dataclass(frozen=True, slots=True)
class Group:
    """A group of datasets; ``name`` is for URLs, and ``id`` is derived from it if not given."""

    name: str
    title: str = ""
    description: str = ""
    image_url: str = ""
    id: str = ""

    #: CKAN's type of group, and the column of datasets.
    kind: ClassVar[str] = "group"
    column: ClassVar[str] = "groups"

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read what a dataset stores, or what a portal gives.  Raises: ``ValidationError``."""
        is_valid = isinstance(value, Mapping) and bool(value.get("name"))
        if not is_valid or not all(
            name in cls.__dataclass_fields__ and isinstance(text, str)
            for name, text in value.items()
        ):
            text = _("Must have a “name”, and may have: title, description, image_url, id.")
            raise ValidationError({cls.column: text})
        return cls(**value)

    def to_json(self) -> dict[str, str]:
        names = ("name", "title", "description", "image_url")
        given = {name: getattr(self, name) for name in names if getattr(self, name)}
        return {**given, "id": self.id or build_id(f"{self.kind}/{self.name}")}

    @property
    def shown_title(self) -> str:
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class Organization(Group):
    kind: ClassVar[str] = "organization"
    column: ClassVar[str] = "organization"


@lru_cache(maxsize=2_000)
def build_organization(publisher: str) -> Organization:
    """Build the organization of a publisher; all spellings of a name have the same name and id."""
    name = slugify(publisher)[:100] or uuid.uuid5(_NAMESPACE, publisher).hex
    return Organization(name, publisher, id=build_id(f"{Organization.kind}/{name}"))


def build_id(name: str) -> str:
    # A text that cannot be stored is refused later.
    return str(uuid.uuid5(_NAMESPACE, name.encode(errors="replace").decode()))


class MemberGroup(models.Model):
    """
    An organization, or a group, that has members; all other ones are texts of datasets alone.

    ``groups.store_group`` saves one, so that its datasets show it as it is then.

    Source: CKAN, whose organizations and groups share one table and their names.
    """

    id = models.CharField(primary_key=True, max_length=100, editable=False)
    is_organization = models.BooleanField(
        _("is an organization"),
        default=True,
        help_text=_("Organizations own datasets; groups collect datasets by theme."),
    )
    name = models.CharField(
        _("name"),
        max_length=100,
        unique=True,
        error_messages={"unique": _("Group name already exists in database")},
        validators=[
            RegexValidator(
                r"^[a-z0-9_-]*\Z",
                _("Must be purely lowercase alphanumeric (ascii) characters and these symbols: -_"),
            ),
            MinLengthValidator(2, _("Must be at least 2 characters long")),
        ],
        help_text=_("Short, for addresses: lowercase letters, digits, hyphens and underscores."),
    )
    title = models.CharField(_("title"), max_length=MAX_TITLE_LENGTH, blank=True)
    description = models.TextField(_("description"), blank=True)
    image_url = models.URLField(_("address of a picture"), max_length=500, blank=True)
    extras = models.JSONField(default=dict, blank=True, editable=False)
    #: As in CKAN, a deleted one keeps its name; its roles have no effect.
    is_deleted = models.BooleanField(_("is deleted"), default=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    #: A change concerns the answers about its datasets, and lists without them.
    resource_paths = ("datasets__resource_id", "datasets__parts__resource_id")

    objects = PrimaryManager()

    class Meta:
        verbose_name = _("organization or group")
        verbose_name_plural = _("organizations and groups")
        ordering = ("name",)

    def __str__(self) -> str:
        return show_bidi_controls(self.title or self.name)

    def clean(self) -> None:
        super().clean()
        others = MemberGroup.objects.exclude(pk=self.pk)
        if others.filter(models.Q(pk=self.name) | models.Q(name=self.pk)).exists():
            # Clients name a row by either.
            raise ValidationError({"name": MemberGroup.name.field.error_messages["unique"]})
        for name, value in (("description", self.description), ("extras", json.dumps(self.extras))):
            try:
                MaxLengthValidator(MAX_GROUP_LENGTHS[name])(value)
            except ValidationError as error:
                raise ValidationError({name: error.messages}) from error
        if self.is_deleted and self.datasets.filter(state=State.ACTIVE).exists():
            raise ValidationError(_("Organization cannot be deleted while it still has datasets"))

    def to_group(self) -> Group:
        kind = Organization if self.is_organization else Group
        return kind(self.name, self.title, self.description, self.image_url, self.pk)


class Role(models.TextChoices):
    """What a member may do.  Source: CKAN's roles."""

    ADMIN = "admin", _("admin: manages the members, too")
    EDITOR = "editor", _("editor: adds, changes and deletes datasets")
    MEMBER = "member", _("member: sees private datasets")


class Membership(models.Model):
    group = models.ForeignKey(MemberGroup, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.DO_NOTHING,  # `_delete_memberships` does it
        db_constraint=False,  # the users may be in another database
        verbose_name=_("user"),
        related_name="+",
    )
    role = models.CharField(_("role"), max_length=20, choices=Role, default=Role.MEMBER)

    objects = PrimaryManager()

    class Meta:
        verbose_name = _("member")
        verbose_name_plural = _("members")
        constraints = (
            models.UniqueConstraint(
                fields=("group", "user"), name="datastore_search_catalogue_member"
            ),
        )

    def __str__(self) -> str:
        user = get_user_model()._default_manager.filter(pk=self.user_id).first()
        return f"{user or self.user_id}: {self.role}"


@receiver(post_delete, sender=settings.AUTH_USER_MODEL)
def _delete_memberships(instance: models.Model, **_more: object) -> None:
    Membership.objects.using(router.db_for_write(Membership)).filter(user=instance.pk).delete()


# Datasets -----------------------------------------------------------------------------------------


class State(models.TextChoices):
    """CKAN's states of a dataset."""

    ACTIVE = "active"
    DELETED = "deleted"


class Dataset(GuardedModel):
    """
    What is published, with its metadata.

    Each resource has a row, with the id of the resource, which a trigger inserts: it holds the
    metadata of the resource, whose name and texts are those of the dataset.  A row without a
    resource is a dataset of the portal's own, which ``sync_dataset`` writes, or one that a client
    has published (``packages``).  The row of a resource that is put into such a dataset is
    ``part_of`` it, and is then no dataset by itself.

    Only users who may read one of its resources see a dataset, unless it ``is_public``.  A deleted
    one is seen only by users who may change it; its name is free.
    """

    guarded_fields = frozenset({"resource", "part_of", "position", "version"})
    resource_paths = ("resource_id", "parts__resource_id")

    id = models.CharField(primary_key=True, max_length=100, editable=False)
    resource = models.OneToOneField(
        Resource, models.CASCADE, null=True, blank=True, editable=False, related_name="dataset"
    )
    part_of = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, editable=False, related_name="parts"
    )
    #: The place among the parts.
    position = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    #: Null where the resource has the name.
    name = models.SlugField(max_length=100, null=True, blank=True)  # noqa: DJ001 - an empty name is not unique
    state = models.CharField(
        max_length=10,
        choices=State.choices,
        default=State.ACTIVE,
        db_default=State.ACTIVE,
        editable=False,
    )
    #: What a client has published and no other column holds, by CKAN's names: of a dataset, or of a
    #: resource in it.  Null: no client has published it.
    members = models.JSONField(null=True, blank=True, editable=False)
    title = models.CharField(max_length=MAX_TITLE_LENGTH, **_TEXT)
    notes = models.TextField(**_TEXT)
    content_language = models.CharField(
        max_length=35, **_TEXT, validators=[validate_content_language]
    )
    #: A language → ``title``, ``notes`` → the text.
    translations = models.JSONField(**_OBJECT, editable=False)
    is_public = models.BooleanField(default=False, db_default=False, editable=False)
    license = models.CharField(
        _("licence"),
        max_length=200,
        **_TEXT,
        validators=[validate_license],
        help_text=_("An SPDX id, such as “CC-BY-4.0”, or the address of the licence."),
    )
    source = models.CharField(
        _("source"),
        max_length=500,
        **_TEXT,
        help_text=_("Where the data come from: an address, or a text."),
    )
    publisher = models.CharField(_("publisher"), max_length=200, **_TEXT)
    contact = models.CharField(
        _("contact"),
        max_length=200,
        **_TEXT,
        help_text=_("A person or an office that answers questions."),
    )
    contact_email = models.EmailField(_("e-mail of the contact"), **_TEXT)
    tags = TextArrayField(
        models.CharField(max_length=100),
        MAX_TAGS,
        verbose_name=_("tags"),
        **_LIST,
        help_text=_("Keywords of the resource, separated by commas."),
    )
    temporal_start = models.DateField(_("first day covered"), null=True, blank=True)
    temporal_end = models.DateField(_("last day covered"), null=True, blank=True)
    spatial = models.CharField(
        _("area covered"), max_length=300, **_TEXT, help_text=_("The name of a place, or several.")
    )
    frequency = models.CharField(
        _("frequency of updates"),
        max_length=100,
        **_TEXT,
        help_text=_("How often the data change, such as “monthly”."),
    )
    version_date = models.DateField(
        _("date of this version"),
        null=True,
        blank=True,
        help_text=_("The day that the data describe."),
    )
    #: Its members have permissions for the dataset (``permissions.OrganizationBackend``).
    owner_org = models.ForeignKey(
        MemberGroup,
        models.SET_NULL,
        verbose_name=_("organization"),
        null=True,
        blank=True,
        related_name="datasets",
        limit_choices_to={"is_organization": True, "is_deleted": False},
    )
    #: As ``to_json`` writes it: the owner, else that of the publisher if there is one.
    organization = models.JSONField(**_OBJECT, editable=False)
    groups = models.JSONField(**_LIST, editable=False)
    version_name = models.CharField(max_length=100, **_TEXT)
    author = models.CharField(max_length=200, **_TEXT)
    author_email = models.EmailField(**_TEXT)
    extras = models.JSONField(**_OBJECT, editable=False)
    #: If null, the times of the resources that the user may read are shown.
    metadata_created = models.DateTimeField(null=True, blank=True, editable=False)
    metadata_modified = models.DateTimeField(null=True, blank=True, editable=False)
    #: Set by a trigger, as the version of a resource is (``database/sql/versions.sql``).
    version = models.BigIntegerField(default=0, db_default=0, editable=False)
    modified_at = models.DateTimeField(auto_now=True, db_default=Now())

    objects = PrimaryManager()

    class Meta:
        verbose_name = _("dataset")
        verbose_name_plural = _("datasets")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(is_public=False) | models.Q(resource=None),
                name="datastore_search_public_dataset",
            ),
            models.UniqueConstraint(
                fields=("name",),
                condition=models.Q(state=State.ACTIVE),
                name="datastore_search_dataset_name",
            ),
        )

    def __str__(self) -> str:
        return show_bidi_controls(self.local_title.text)

    def save(self, *args: Any, **options: Any) -> None:
        """Save the row; one of a resource has its id, and what can be derived is derived."""
        if self.resource_id:
            self.id = str(self.resource_id)
        self.derive()
        if (names := options.get("update_fields")) is not None:
            options["update_fields"] = {*names, "organization", "groups"}
        super().save(*args, **options)

    def derive(self) -> None:
        """Derive the organization of a publisher, and the ids of organization and groups."""
        if self.owner_org:
            self.organization = self.owner_org.to_group().to_json()
        elif self.publisher or self.resource_id:
            organization = build_organization(self.publisher) if self.publisher else None
            self.organization = organization.to_json() if organization else {}
        elif self.organization:
            self.organization = Organization.from_json(self.organization).to_json()
        groups = {group.name: group.to_json() for group in map(Group.from_json, self.groups or ())}
        self.groups = list(groups.values())

    def clean(self) -> None:
        """Check the fields that no form has, too."""
        super().clean()
        validate_translations(self.translations, frozenset({"title", "notes"}))
        self.derive()
        extras = self.extras.items() if isinstance(self.extras, Mapping) else [(None, None)]
        if not all(isinstance(text, str) for pair in extras for text in pair):
            raise ValidationError({"extras": _("Must map names to texts.")})
        for name in ("metadata_created", "metadata_modified"):
            if (moment := getattr(self, name)) and is_naive(moment):
                raise ValidationError({name: _("The time needs a time zone.")})

    @property
    def shown_name(self) -> str:
        return self.name or (self.resource.name if self.resource else "")

    @property
    def is_hidden(self) -> bool:
        """Whether the resources of a published dataset are private."""
        return self.state == State.DELETED or not self.is_public

    @property
    def local_title(self) -> LocalText:
        """The title for the active language; the name where there is none."""
        if self.resource:
            return self.resource.local_title
        title = choose_text("title", self.title, self.translations, self.content_language)
        return title if title.text else LocalText(self.shown_name)

    @property
    def local_notes(self) -> LocalText:
        if self.resource:
            return self.resource.local_description
        return choose_text("notes", self.notes, self.translations, self.content_language)

    def list_texts(self, name: str) -> list[LocalText]:
        """List the ``title`` or the ``notes``: the plain text, then the translations in order."""
        row, column = self.resource or self, name
        if self.resource and name == "notes":
            column = "description"
        texts = [LocalText(getattr(row, column), row.content_language)]
        for language, translated in sorted(row.translations.items()):
            texts.append(LocalText(translated.get(column, ""), language))
        return [each for each in texts if each.text]

    @property
    def owner(self) -> Organization | None:
        return Organization(**self.organization) if self.organization else None

    @property
    def shown_version(self) -> str:
        return self.version_name or (self.version_date.isoformat() if self.version_date else "")


class WordsField(SearchVectorField):
    """PostgreSQL's ``tsvector``, in a portal without the app ``django.contrib.postgres``, too."""

    def check(self, **options: Any) -> list[CheckMessage]:
        return [each for each in super().check(**options) if each.id != "postgres.E005"]


class DatasetText(models.Model):
    """
    What searches of the catalogue read of a dataset: its texts, and the words of its records.

    ``contents`` makes and renews a row; a search reads without it what has changed since.
    """

    dataset = models.OneToOneField(
        Dataset, models.CASCADE, primary_key=True, editable=False, related_name="searched"
    )
    #: That of the dataset, for shorter joins.
    resource = models.OneToOneField(
        Resource, models.CASCADE, null=True, editable=False, related_name="searched"
    )
    #: That of the resource, or of a dataset without one, when the row was made.
    version = models.BigIntegerField(editable=False)
    #: Its lines are in capitals (``sql/searched.sql``).
    text = models.TextField(editable=False)
    #: The text search configuration of the words.
    language = models.CharField(max_length=63, editable=False)
    #: The words of all records, without places; null where there are too many, or none was read.
    words = WordsField(null=True, editable=False)
    #: When the words were read.
    read_at = models.DateTimeField(null=True, editable=False)

    objects = PrimaryManager()

    class Meta:
        # The words have an index, too (``sql/searched.sql``).
        indexes = (models.Index(fields=("language",), name="datastore_search_text_language"),)

    def __str__(self) -> str:
        return str(self.dataset_id)


class Use(models.Model):
    """
    The requests of a month that were answered about a resource (``uses``).

    Nothing in the database refers to the resource, so that no count waits for a write, and a portal
    without this app deletes resources.
    """

    resource = models.ForeignKey(
        Resource,
        models.CASCADE,
        editable=False,
        related_name="uses",
        db_constraint=False,
        db_index=False,
    )
    #: The first day of the month, in UTC.
    month = models.DateField(editable=False)
    requests = models.BigIntegerField(editable=False)

    objects = PrimaryManager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("resource", "month"), name="datastore_search_use_of_month"
            ),
        )

    def __str__(self) -> str:
        return f"{self.resource_id} {self.month}"


def get_metadata(resource: Resource) -> Dataset:
    """
    Get the row with the metadata of a resource, from the database that the resource was read from.

    A resource without a row, such as a new one, has an empty one.
    """
    state, found = resource._state, None
    if Resource.dataset.is_cached(resource):
        found = getattr(resource, "dataset", None)
    elif not state.adding:
        found = Dataset.objects.using(state.db).filter(resource=resource).first()
    resource.dataset = found or Dataset(id=str(resource.pk), resource=resource)
    return resource.dataset


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """A dataset as a user sees it: with the resources that the user may read, in order."""

    dataset: Dataset
    resources: Sequence[Resource]

    @property
    def is_private(self) -> bool:
        if self.dataset.members is not None and self.dataset.resource is None:
            return not self.dataset.is_public
        return not self.dataset.is_public and all(each.private for each in self.resources)

    @property
    def created_at(self) -> datetime | None:
        given = self.dataset.metadata_created
        return given or min((each.created_at for each in self.resources), default=None)

    @property
    def modified_at(self) -> datetime | None:
        given = self.dataset.metadata_modified
        return given or max((each.modified_at for each in self.resources), default=None)


@dataclass(frozen=True, slots=True)
class DatasetPosition:
    dataset_id: str
    position: int
