"""Resources: the tables that a portal publishes; and their fields, the data dictionary."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import ValidationError
from django.db import connections, models, router
from django.db.models.functions import Coalesce, JSONObject
from django.urls import NoReverseMatch, reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from ..conf import conf
from ..database.indexes import Indexes, has_trigrams
from ..database.server import list_search_languages
from ..database.statements import begin_write_transaction
from ..database.tables import WEIGHTS, has_table
from ..field_types import field_types
from ..messages.access import UnknownResource
from ..messages.search import SubstringsNotSupported, UnknownLanguage
from ..messages.texts import show_bidi_controls
from .aliases import MAX_ALIAS_LENGTH, Alias, validate_free_name
from .base import GuardedModel, PrimaryManager, PrimaryModel, ReportedQuerySet, parse_resource_id
from .object_permissions import Permitted, find_permitted
from .table_versions import TableSettings, TableVersion, drop_tables_on_commit
from .translations import (
    MAX_LABEL_LENGTH,
    MAX_TITLE_LENGTH,
    LocalText,
    choose_language,
    choose_text,
    split_translations,
    validate_content_language,
    validate_translations,
    write_translations,
)

Reader = AbstractBaseUser | AnonymousUser

#: The texts of a resource that have translations.
_TEXTS = frozenset({"title", "description"})


def get_default_language() -> str:
    return conf.SEARCH_LANGUAGE


def validate_language(language: str) -> None:
    connection = connections[router.db_for_write(Resource)]
    if language not in list_search_languages(connection):
        raise ValidationError(str(UnknownLanguage(language=language)))


def validate_indexes(kinds: Iterable[str]) -> None:
    connection = connections[router.db_for_write(Resource)]
    if IndexKind.SUBSTRINGS in kinds and not has_trigrams(connection):
        raise ValidationError(str(SubstringsNotSupported()))


class IndexKind(models.TextChoices):
    """What the table of a resource may be indexed by, beside its key."""

    FILTERS = "filters", _("the values of all fields")
    WORDS = "words", _("the words of all fields")
    SUBSTRINGS = "substrings", _("parts of texts of three letters or more, in all fields")
    NUMBERS = "numbers", _("the order of numbers")
    DATES = "dates", _("the order of dates and times")
    TEXTS = "texts", _("the order of short texts")


#: Fields of a table whose order is indexed, at most: each index costs time with each record.
MAX_ORDER_INDEXES = 32


# Fields -------------------------------------------------------------------------------------------

#: The texts of a field, as members of its entry in the data dictionary.
_FIELD_TEXTS = {"label": "label", "notes": "notes"}
_SEPARATOR = "_"


class Field(GuardedModel, PrimaryModel):
    resource_paths = ("resource_id",)
    guarded_fields = frozenset({"name", "type", "position", "is_sparse", "has_order_index"})

    resource = models.ForeignKey(
        "Resource", models.CASCADE, verbose_name=_("resource"), related_name="fields"
    )
    name = models.CharField(_("name"), max_length=500, editable=False)
    type = models.CharField(_("type"), max_length=63, editable=False)
    position = models.PositiveIntegerField(_("position"), editable=False)
    label = models.CharField(_("label"), max_length=MAX_LABEL_LENGTH, blank=True)
    notes = models.TextField(_("notes"), blank=True)
    #: A language → ``label``, ``notes`` → the text.
    translations = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    #: The records that were there before the field lack it: they have null without saying so.
    is_sparse = models.BooleanField(default=False, editable=False)
    #: The table has an index of the field's order.
    has_order_index = models.BooleanField(default=False, editable=False)
    #: The type that staff have chosen for this and the next loads, as ``--type`` takes it.
    chosen_type = models.CharField(_("type for the next load"), max_length=100, blank=True)
    #: Other members of the entry in the data dictionary, as a client sent them.
    extra_info = models.JSONField(default=dict, blank=True, editable=False)

    class Meta(PrimaryModel.Meta):
        verbose_name = _("field")
        verbose_name_plural = _("fields")
        ordering = ("position",)
        constraints = (
            models.UniqueConstraint(
                fields=("resource", "name"), name="datastore_search_field_name"
            ),
        )

    def __str__(self) -> str:
        return show_bidi_controls(self.name)

    def clean(self) -> None:
        super().clean()
        validate_translations(self.translations, _FIELD_TEXTS)

    @property
    def info(self) -> dict[str, Any]:
        """Return the data dictionary's entry, with CKAN's names and translations (``label_fr``)."""
        texts = {"label": self.label, "notes": self.notes}
        return {
            **self.extra_info,
            **{name: text for name, text in texts.items() if text},
            **write_translations(self.translations, _FIELD_TEXTS, _SEPARATOR),
        }

    @info.setter
    def info(self, info: Mapping[str, Any]) -> None:
        self.translations, info = split_translations(info, _FIELD_TEXTS, _SEPARATOR)
        label, notes = info.get("label"), info.get("notes")
        self.label = label if isinstance(label, str) and len(label) <= MAX_LABEL_LENGTH else ""
        self.notes = notes if isinstance(notes, str) else ""
        texts = {"label": self.label, "notes": self.notes}
        # Members that staff cannot edit stay as they are.
        self.extra_info = {name: value for name, value in info.items() if not texts.get(name)}

    @property
    def weight(self) -> int:
        """What its words count in the next table: the member ``weight``, if that is one of them."""
        weight = self.extra_info.get("weight")
        return weight if isinstance(weight, int) and weight in WEIGHTS else 1

    @property
    def is_name(self) -> bool:
        """Whether the data dictionary says that its values name the records (``is_name``)."""
        return self.extra_info.get("is_name") is True

    def choose_label(self, plain_language: str) -> LocalText:
        """Choose the label for the active language; plain texts are in ``plain_language``."""
        return choose_text("label", self.label, self.translations, plain_language)

    def choose_notes(self, plain_language: str) -> LocalText:
        return choose_text("notes", self.notes, self.translations, plain_language)

    def choose_info(self, plain_language: str) -> dict[str, Any]:
        label, notes = self.choose_label(plain_language), self.choose_notes(plain_language)
        texts = {"label": label.text, "notes": notes.text}
        return {**self.info, **{name: text for name, text in texts.items() if text}}


# Resources ----------------------------------------------------------------------------------------


class ResourceQuerySet(ReportedQuerySet["Resource"]):
    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the tables of the records, too.  Raises: ``WriteBlocked``."""
        with begin_write_transaction(connections[self.db]):
            _drop_tables_on_commit(self, using=self.db)
            return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined] # Django's mark
    delete.queryset_only = True  # type: ignore[attr-defined] # Django's mark

    def permitted_to(self, user: Reader, *verbs: str, max_checked: int | None = None) -> Permitted:
        """Find the resources for which a user has one of some permissions (view, change)."""
        permissions = [f"datastore_search.{verb}_resource" for verb in verbs]
        return find_permitted(user, permissions, self, max_checked=max_checked)

    def readable_by(self, user: Reader) -> Permitted:
        permitted = self.filter(private=True).permitted_to(user, "view")
        return replace(permitted, condition=models.Q(private=False) | permitted.condition)

    def named(self, name: uuid.UUID | str) -> Self:
        """Keep the resource that has an id, an alias, or else a name."""
        resource_id = name if isinstance(name, uuid.UUID) else parse_resource_id(name)
        if resource_id is not None:
            return self.filter(pk=resource_id)
        if len(str(name)) > MAX_ALIAS_LENGTH:
            return self.none()
        aliased = Alias.objects.filter(name=name).values("resource_id")
        named = Resource.objects.filter(name=name).values("pk")
        return self.filter(pk=Coalesce(models.Subquery(aliased), models.Subquery(named)))

    def known_as(self, name: str) -> Self:
        """Keep the resources whose id, name or alias this is: one, unless a check was missed."""
        aliases = Alias.objects.filter(name=name).values("resource_id")
        is_named = models.Q(name=name) | models.Q(pk__in=aliases)
        return self.filter(is_named | models.Q(pk=parse_resource_id(name)))

    def described(self, name: uuid.UUID | str) -> Resource:
        """
        Get a resource with its table version and fields, all of one moment.

        ``name`` is its id, an alias or its name.  One statement reads them, so that a load that is
        being published is visible wholly or not at all.

        Raises: ``UnknownResource`` when there is none, or none that has been loaded.
        """
        names = [field.attname for field in Field._meta.concrete_fields]
        columns = JSONObject(**{name: name for name in names if name != "resource_id"})
        fields = Field.objects.filter(resource=models.OuterRef("pk")).order_by("position")
        resource = (
            self.named(name)
            .filter(table_version__isnull=False)
            .select_related("table_version")
            .defer(*(f"table_version__{each}" for each in _DEFERRED_FIELDS))
            .annotate(columns=ArraySubquery(fields.values(column=columns)))
            .first()
        )
        if resource is None:
            raise UnknownResource(resource=name)
        rows = ({**row, "resource_id": resource.pk} for row in vars(resource).pop("columns"))
        resource.schema = tuple(
            Field.from_db(self.db, names, [row[each] for each in names]) for row in rows
        )
        return resource


#: What no search needs of a table version.
_DEFERRED_FIELDS = ("field_formats", "fingerprint", "profiles")


def _drop_tables_on_commit(resources: Iterable[Resource], *, using: str) -> None:
    versions = TableVersion.objects.using(using).filter(resource__in=resources)
    drop_tables_on_commit(list(versions.values_list("pk", flat=True)), using=using)


class _Infos(dict[str | None, Mapping[str, Mapping[str, Any]]]):
    """
    The data dictionary entries of a resource in each active language that has asked.

    Languages share the entries of one language of the translations, or those without any.
    """

    def __init__(self, resource: Resource) -> None:
        super().__init__()
        self._fields, self._plain_language = resource.schema, resource.content_language

    def __missing__(self, language: str | None) -> Mapping[str, Mapping[str, Any]]:
        available = {code for field in self._fields for code in field.translations}
        chosen = choose_language(available, self._plain_language)
        if chosen != language:
            infos = self[chosen]
        else:
            infos = {
                field.name: field.choose_info(self._plain_language)
                if chosen and field.translations
                else field.info
                for field in self._fields
            }
        self[language] = infos
        return infos


class Resource(GuardedModel):
    guarded_fields = frozenset({"table_version", "primary_key", "options", "version"})
    resource_paths = ("pk",)

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4)
    name = models.SlugField(
        _("name"),
        max_length=100,
        unique=True,
        help_text=_("Short, for addresses: letters, digits, hyphens and underscores."),
    )
    title = models.CharField(_("title"), max_length=MAX_TITLE_LENGTH, blank=True)
    description = models.TextField(_("description"), blank=True)
    content_language = models.CharField(
        _("language of the texts"),
        max_length=35,
        blank=True,
        default="",
        db_default="",
        validators=[validate_content_language],
        help_text=_(
            "The language of the title, the description, the labels and the notes. Empty: unknown."
        ),
    )
    #: A language → ``title``, ``description`` → the text.
    translations = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    private = models.BooleanField(
        _("private"),
        default=False,
        help_text=_("Only users with the permission to view resources can read it."),
    )
    language = models.CharField(
        _("language of the search"),
        max_length=63,
        default=get_default_language,
        validators=[validate_language],
        help_text=_(
            "PostgreSQL’s text search configuration, such as “english” or “simple”. "
            "A change takes effect with the next load."
        ),
    )
    table_version = models.OneToOneField(
        TableVersion,
        models.SET_NULL,
        verbose_name=_("table version"),
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
        help_text=_("Names of the fields whose values identify a record."),
    )
    #: Null: the setting applies.
    indexes = models.JSONField(
        _("indexes"),
        null=True,
        blank=True,
        validators=[validate_indexes],
        help_text=_(
            "What can be searched fast. Every index costs disk space, and time with each "
            "load. Without a choice, the portal’s settings apply. A change takes effect with "
            "the next load."
        ),
    )
    #: The options of the next load, unless it has its own (``files.types.options``), as JSON.
    options = models.JSONField(default=dict, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    modified_at = models.DateTimeField(_("modified"), auto_now=True)
    #: Increases with every change on which an answer depends; only triggers set it
    #: (``sql/versions.sql``).
    version = models.BigIntegerField(default=0, editable=False)

    objects = PrimaryManager.from_queryset(ResourceQuerySet)()

    #: The fields in order, if ``described`` has read them.
    schema: tuple[Field, ...]

    class Meta:
        base_manager_name = "objects"
        verbose_name = _("resource")
        verbose_name_plural = _("resources")
        ordering = ("name",)

    def __str__(self) -> str:
        return show_bidi_controls(self.local_title.text)

    @property
    def local_title(self) -> LocalText:
        """The title for the active language; the name where there is none."""
        title = choose_text("title", self.title, self.translations, self.content_language)
        return title if title.text else LocalText(self.name)

    @property
    def local_description(self) -> LocalText:
        return choose_text(
            "description", self.description, self.translations, self.content_language
        )

    def clean(self) -> None:
        super().clean()
        validate_translations(self.translations, _TEXTS)

    def validate_unique(self, exclude: Collection[str] | None = None) -> None:
        """Refuse a name that another resource has as its id or alias, too."""
        super().validate_unique(exclude)
        if "name" not in (exclude or ()):
            validate_free_name(self, self.name, self.pk)

    def save(self, *args: Any, **options: Any) -> None:
        """Refuse an invalid name, unless it is stored already.  Raises: ``ValidationError``."""
        names = options.get("update_fields")
        if "name" in vars(self) and (names is None or "name" in names):
            try:
                Resource.name.field.clean(self.name, self)
            except ValidationError as error:
                if not Resource.objects.filter(pk=self.pk, name=self.name).exists():
                    raise ValidationError({"name": error.error_list}) from error
        super().save(*args, **options)

    save.alters_data = True  # type: ignore[attr-defined] # Django's mark

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the table of the records, too.  Raises: ``WriteBlocked``."""
        using = kwargs.get("using") or router.db_for_write(Resource, instance=self)
        with begin_write_transaction(connections[using]):
            _drop_tables_on_commit([self], using=using)
            return super().delete(*args, **kwargs)

    delete.alters_data = True  # type: ignore[attr-defined] # Django's mark

    @property
    def has_table(self) -> bool:
        """Return whether the table of the records exists; after ``loaddata`` it does not."""
        connection = connections[router.db_for_write(Resource, instance=self)]
        table_id = self.table_version_id
        return table_id is not None and has_table(connection, table_id)

    @property
    def types(self) -> dict[str, str]:
        return {field.name: field.type for field in self.schema}

    @property
    def ordered_fields(self) -> frozenset[str]:
        return frozenset(field.name for field in self.schema if field.has_order_index)

    @cached_property
    def infos(self) -> Mapping[str | None, Mapping[str, Mapping[str, Any]]]:
        """Map an active language to the data dictionary entries, by the fields' names."""
        return _Infos(self)

    def is_readable_by(self, user: Reader) -> bool:
        return not self.private or self.permits(user, "view")

    def get_absolute_url(self) -> str:
        try:
            return reverse("datastore_search:resource", args=[self.pk])
        except NoReverseMatch:
            action = reverse("datastore_search:action", args=["datastore_search"])
            return f"{action}?resource_id={self.pk}"

    def permits(self, user: Reader, verb: str) -> bool:
        """Check a verb's permission in general, then here; some user models have no permissions."""
        has_perm = getattr(user, "has_perm", None)
        permission = f"datastore_search.{verb}_resource"
        return has_perm is not None and bool(has_perm(permission) or has_perm(permission, self))

    @property
    def chosen_index_kinds(self) -> list[str]:
        return list(conf.INDEXES if self.indexes is None else self.indexes)

    @property
    def index_kinds(self) -> list[str]:
        """What the next table is indexed by: what was chosen, as far as the database can."""
        kinds = self.chosen_index_kinds
        connection = connections[router.db_for_write(Resource, instance=self)]
        if IndexKind.SUBSTRINGS in kinds and not has_trigrams(connection):
            kinds.remove(IndexKind.SUBSTRINGS)
        return kinds

    @property
    def table_settings(self) -> TableSettings:
        """How the next table is made, of the fields that are there now."""
        fields = self.fields.using(router.db_for_write(Resource, instance=self))
        weights = {field.name: field.weight for field in fields if field.weight > 1}
        return TableSettings(self.language, self.index_kinds, weights)

    def choose_indexes(self, names: Mapping[str, str]) -> Indexes:
        """Choose a table's indexes; ``names`` maps the fields to order by to their types."""
        kinds = self.index_kinds
        orders = [name for name, kind in names.items() if field_types[kind].ordered in kinds]
        chosen = orders[:MAX_ORDER_INDEXES]
        return Indexes(kinds, {name: field_types[names[name]].sort_expression for name in chosen})


class Datastore(Resource):
    """The resources on the page *Datastore* of the admin, which an app registers."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = verbose_name_plural = pgettext_lazy("admin", "Datastore")
