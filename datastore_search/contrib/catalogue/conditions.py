"""Conditions and orders of the catalogue in SQL: of resources, and of datasets."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

from django.contrib.postgres.fields import ArrayField
from django.db import connections
from django.db.models import Case, F, Func, Max, Min, OuterRef, Q, Subquery, TextField, Value, When
from django.db.models.expressions import Combinable, OrderBy
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce, Lower, NullIf, StrIndex, Upper
from django.db.models.lookups import Exact, GreaterThan, IContains, IExact
from django.utils.translation import get_language

from ...database.statements import fetch_value
from ...filters.names import SortKey
from ...models import Resource, ResourceQuerySet
from ...models.translations import iterate_fallbacks
from .descriptions import FORMAT
from .query import EVERYTHING, NOTHING, SORTS, TIMES, Fields

# Resources ----------------------------------------------------------------------------------------


def match_word(word: str, *, of_datasets: bool = False) -> Q:
    """
    Match resources, or datasets, with a word in a text, name, publisher, tag, id or field.

    It is looked for in ``DatasetText``; what has changed since its version is read anew.
    """
    version = Coalesce("resource__version", "version") if of_datasets else F("version")
    kept = When(searched__version=version, then="searched__text")
    read = Func(Cast("pk", TextField()), function="datastore_search_catalogue_text")
    text = Case(kept, default=read, output_field=TextField())
    return Q(GreaterThan(StrIndex(text, Upper(Value(word))), 0))


def match_text(name: str, part: str, owner: str = "") -> Q:
    """
    Match rows whose text of this name contains a part, or its translation does.

    ``owner`` is the name of a related row that has the texts, with two underscores.
    """
    condition, translated = Q(**{f"{owner}{name}__icontains": part}), NOTHING
    for language in iterate_fallbacks(get_language()):
        text = KeyTextTransform(name, KeyTransform(language, f"{owner}translations"))
        # Null would be neither true nor, where the condition is negated, false.
        known = Coalesce(text, Value(""), output_field=TextField())
        translated |= Q(IContains(known, part))
    # Most rows have no translations.
    return condition | ~Q(**{f"{owner}translations": {}}) & translated


def read_format(members: str = "dataset__members") -> Combinable:
    """Read the format of the file of a resource, as ``describe_resource`` writes it."""
    sent = Coalesce(KeyTextTransform("format", members), Value(""), output_field=TextField())
    unsent = When(**{f"{members}__isnull": True}, then=Value(FORMAT))
    return Case(unsent, default=sent, output_field=TextField())


def match_format(text: str, members: str = "dataset__members") -> Q:
    named = read_format(members)
    return ~Q(Exact(named, "")) if text == "*" else Q(IExact(named, text))


# Datasets -----------------------------------------------------------------------------------------


#: Each search runs it, so Django does not compile it each time.
_HAS_PORTAL_DATASETS: Final = (
    "SELECT EXISTS (SELECT FROM datastore_search_catalogue_dataset WHERE resource_id IS NULL)"
)


def list_loaded_resources(using: str) -> ResourceQuerySet:
    return Resource.objects.using(using).filter(table_version__isnull=False).order_by()


def list_resources(using: str) -> ResourceQuerySet:
    """List the resources that are loaded, or that a client has published."""
    is_listed = Q(table_version__isnull=False) | Q(dataset__members__isnull=False)
    return Resource.objects.using(using).filter(is_listed).order_by()


@dataclass(frozen=True)
class Readable:
    """
    The resources that a user may read: all of a database that meet a condition, in no order.

    ``private`` matches the datasets that the user sees without a resource, beside the public ones.
    """

    using: str
    condition: Q
    private: Q = NOTHING

    @property
    def listed(self) -> ResourceQuerySet:
        """The resources that are loaded, or that a client has published."""
        return list_resources(self.using).filter(self.condition)

    @property
    def resources(self) -> ResourceQuerySet:
        """The resources that are loaded."""
        return list_loaded_resources(self.using).filter(self.condition)

    @cached_property
    def has_portal_datasets(self) -> bool:
        """Whether the portal has datasets of its own; without them, SQL reads resources instead."""
        return bool(fetch_value(connections[self.using], _HAS_PORTAL_DATASETS))

    def of_portal(self, condition: Q) -> Q:
        """Return the condition; without datasets of the portal's own, nothing meets it."""
        return condition if self.has_portal_datasets else NOTHING

    def of_resource(self, name: str) -> str:
        return f"resource__{name}" if self.has_portal_datasets else name

    def of_dataset(self, name: str) -> str:
        return name if self.has_portal_datasets else f"dataset__{name}"

    def match_parts(self, condition: Q) -> Q:
        """Match the datasets of which a readable part meets a condition on resources."""
        if not self.has_portal_datasets:
            return NOTHING
        parts = self.listed.filter(condition, dataset__part_of__isnull=False)
        return Q(pk__in=parts.values("dataset__part_of"))

    def match_resources(self, found: ResourceQuerySet) -> Q:
        """Match the datasets of resources that the user may read."""
        if not self.has_portal_datasets:
            return Q(pk__in=found.values("pk"))
        return Q(pk__in=found.values_list(Coalesce("dataset__part_of", "dataset__pk")))


def build_shared_columns(readable: Readable) -> dict[str, Any]:
    """Build what datasets are sorted by, and what they share with a resource."""
    parts: Any = None
    if readable.has_portal_datasets:
        parts = readable.listed.filter(dataset__part_of=OuterRef("pk")).order_by()
        parts = parts.values("dataset__part_of")

    def find_time(field: str, of_resource: str, choose: type[Max | Min]) -> Combinable:
        if parts is None:
            return F(of_resource)
        # PostgreSQL asks the parts only of a dataset that has neither.
        times = parts.annotate(chosen=choose(of_resource))
        return Coalesce(F(field), F(f"resource__{of_resource}"), Subquery(times.values("chosen")))

    shown_as: Combinable = F(readable.of_resource("name"))
    titles = [NullIf(readable.of_resource("title"), Value("")), shown_as]
    if readable.has_portal_datasets:
        titles = [NullIf("title", Value("")), F("name"), *titles]
        shown_as = Coalesce("name", shown_as)
    return {
        "shown_as": shown_as,
        "sorted_as": Lower(Coalesce(*titles, output_field=TextField())),
        "created": find_time("metadata_created", "created_at", Min),
        "modified": find_time("metadata_modified", "modified_at", Max),
    }


def build_columns(readable: Readable) -> dict[str, Any]:
    """Build what conditions on datasets compare, which is never null but times."""
    of_dataset = readable.of_dataset
    publisher, organization = of_dataset("publisher"), of_dataset("organization")
    return {
        **build_shared_columns(readable),
        "written_by": Coalesce(NullIf(of_dataset("author"), Value("")), publisher),
        "organization_name": _read_member("name", organization),
        "organization_id": _read_member("id", organization),
        **{f"{name}_text": F(of_dataset(name)) for name in ("license", "contact", "source")},
        "tag_names": _write_list(of_dataset("tags"), "to_jsonb(%(expressions)s)"),
        "folded_tags": Func(of_dataset("tags"), **_FOLDED),
        "group_names": _write_list(of_dataset("groups"), _MEMBERS.format("name")),
        "group_ids": _write_list(of_dataset("groups"), _MEMBERS.format("id")),
    }


#: Tags in capitals, which have an index (``sql/triggers.sql``).
_FOLDED: Final[dict[str, Any]] = {
    "function": "datastore_search_catalogue_fold",
    "output_field": ArrayField(TextField()),
}

#: What all datasets have in common, by the names of fields.
_CONSTANTS: Final = {
    "state": "active",
    "type": "dataset",
    "dataset_type": "dataset",
    "entity_type": "package",
}

#: The word for a private dataset, by the names of fields.
_PRIVATE: Final = {"capacity": "private", "private": "true"}


def order_datasets(readable: Readable, terms: Sequence[SortKey]) -> list[OrderBy]:
    """Write an order of datasets as SQL; one without a time comes before all others."""
    columns = {**build_shared_columns(readable), "pk": F("pk")}
    return [
        OrderBy(
            columns[SORTS[each.field]],
            descending=each.descending,
            nulls_first=True if each.field in TIMES and not each.descending else None,
            nulls_last=True if each.field in TIMES and each.descending else None,
        )
        for each in terms
    ]


def _match_any(columns: Sequence[str], lookup: str, text: str) -> Q:
    return Q(*((f"{column}__{lookup}", text) for column in columns), _connector=Q.OR)


def build_fields(readable: Readable) -> Fields:
    """Build conditions on datasets with ``build_columns``, and on their readable resources."""

    def match_anywhere(text: str) -> Q:
        word = text.strip("*")
        if not word:
            return EVERYTHING
        matched = match_word(word, of_datasets=readable.has_portal_datasets)
        return matched | readable.match_parts(match_word(word))

    def match_part(name: str, of_resource: str, text: str) -> Q:
        part = text.strip("*")
        return match_text(of_resource, part, owner) | readable.of_portal(match_text(name, part))

    def match_text_of_resources(name: str, text: str) -> Q:
        part = text.strip("*")
        return match_text(name, part, owner) | readable.match_parts(match_text(name, part))

    def match_file(text: str) -> Q:
        found = match_format(text, readable.of_dataset("members"))
        found &= ~readable.of_portal(Q(resource=None))
        return found | readable.match_parts(match_format(text))

    def match_access(private: str, text: str) -> Q:
        if text == "*":
            return EVERYTHING
        of_portal = Q(is_public=True) | readable.match_parts(Q(private=False))
        is_seen_by_all = Q(**{f"{owner}private": False}) | readable.of_portal(of_portal)
        return ~is_seen_by_all if text.casefold() == private else is_seen_by_all

    def match_id(text: str) -> Q:
        with suppress(ValueError):
            text = str(uuid.UUID(text))
        return _match_value(["pk"], text) if text != "*" else EVERYTHING

    def match_time(column: str, _text: str) -> Q:
        return Q(**{f"{column}__isnull": False})  # other texts are refused

    owner = readable.of_resource("")
    return {
        "": match_anywhere,
        "text": match_anywhere,
        "id": match_id,
        "title": partial(match_part, "title", "title"),
        "notes": partial(match_part, "notes", "description"),
        "res_format": match_file,
        "res_name": partial(match_text_of_resources, "title"),
        "res_description": partial(match_text_of_resources, "description"),
        **{name: partial(match, columns) for name, (match, *columns) in _FIELDS.items()},
        **{name: partial(match_time, column) for name, column in TIMES.items()},
        **{name: partial(match_access, word) for name, word in _PRIVATE.items()},
        **{name: partial(_match_constant, value) for name, value in _CONSTANTS.items()},
    }


def _match_constant(value: str, text: str) -> Q:
    return EVERYTHING if text.casefold() in {value, "*"} else NOTHING


def _match_value(columns: Sequence[str], text: str) -> Q:
    """Match a value exactly, or a part of it where the text begins or ends with ``*``."""
    if text == "*":
        return Q(*(~Q(**{column: ""}) for column in columns), _connector=Q.OR)
    lookup = _LOOKUPS[text.startswith("*"), text.endswith("*")]
    return _match_any(columns, lookup, text.strip("*"))


#: Of a text with a star at its beginning, and at its end.
_LOOKUPS: Final = {
    (False, False): "iexact",
    (False, True): "istartswith",
    (True, False): "iendswith",
    (True, True): "icontains",
}


def _match_element(columns: Sequence[str], text: str) -> Q:
    """Match an element of a JSON list as text, or a part of one."""
    if text == "*":
        return Q(*(~Q(**{column: "[]"}) for column in columns), _connector=Q.OR)
    quoted = json.dumps(text.strip("*"), ensure_ascii=False)
    kept = slice(text.startswith("*"), -1 if text.endswith("*") else None)
    return _match_any(columns, "icontains", quoted[kept])


def _match_tag(columns: Sequence[str], text: str) -> Q:
    """Match a tag by the index of them, or a part of one as text."""
    return _match_element(columns, text) if "*" in text else match_tag(text)


def match_tag(tag: str) -> Q:
    """Match the datasets that have a tag, in upper or lower case, by the index of tags."""
    return Q(folded_tags__contains=[Upper(Value(tag))])


def _read_member(name: str, organization: str) -> Combinable:
    """Read a member of the organization as a text, which is empty where there is none."""
    return Coalesce(KeyTextTransform(name, organization), Value(""), output_field=TextField())


#: A member of all objects in a list.
_MEMBERS: Final = "jsonb_path_query_array(%(expressions)s, '$[*].{}')"


def _write_list(column: str, template: str) -> Combinable:
    """Write values of a column as the text of a JSON list."""
    return Func(column, template=f"{template}::text", output_field=TextField())


#: How a field is compared, and with which columns.
_FIELDS: Final[Mapping[str, tuple[Callable[..., Q], *tuple[str, ...]]]] = {
    "name": (_match_value, "shown_as"),
    "tags": (_match_tag, "tag_names"),
    "organization": (_match_value, "organization_name", "organization_id"),
    "owner_org": (_match_value, "organization_name", "organization_id"),
    "groups": (_match_element, "group_names", "group_ids"),
    "license_id": (_match_value, "license_text"),
    "maintainer": (_match_value, "contact_text"),
    "author": (_match_value, "written_by"),
    "url": (_match_value, "source_text"),
}
