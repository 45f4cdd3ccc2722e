"""
Read what a Data Package says of its resource: texts, licence, sources, contributors, coverage.

A property of the resource wins over the same of the package.

Source: Data Package 1 (specs.frictionlessdata.io) and 2 (datapackage.org); ``temporal`` and
``spatial`` come from the version 1 release candidates, which portals still write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.core.exceptions import ValidationError

from ...field_types import is_storable
from ...models import (
    MAX_TITLE_LENGTH,
    Resource,
    Translations,
    add_translations,
    clean_metadata,
    split_translations,
)

#: A translation is ``title@fr``, as in the schema.
_TEXTS: Final = {"title": "title", "description": "description"}
_SEPARATOR: Final = "@"

_PUBLISHERS: Final = frozenset({"publisher", "distributor"})
_CONTACTS: Final = frozenset({"contact", "contactperson", "maintainer"})

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")

#: What changes with the data: it follows each new descriptor, where other values only fill gaps.
_OF_VERSION: Final = frozenset({"temporal_start", "temporal_end", "version_date"})


@dataclass(frozen=True, slots=True)
class PackageMetadata:
    """
    The values of a package by the names of ``METADATA``, and its texts with their translations.

    ``ignored`` names the properties with values that cannot be stored.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    translations: Translations = field(default_factory=dict)
    ignored: tuple[str, ...] = ()


def parse_package_metadata(*levels: object) -> PackageMetadata:
    """Parse what a package, a resource of it and its schema say; the last one wins."""
    given: dict[str, Any] = {}
    for level in levels:
        if isinstance(level, Mapping):
            given |= {name: value for name, value in level.items() if value}
    values: dict[str, Any] = {}
    ignored: list[str] = []
    for name, read in _READERS.items():
        if name not in given:
            continue
        try:
            found = {each: clean_metadata(each, value) for each, value in read(given[name])}
        except (TypeError, KeyError, AttributeError, ValidationError):
            ignored.append(name)
        else:
            values = {each: value for each, value in found.items() if value} | values
    translations, _others = split_translations(given, _TEXTS, _SEPARATOR)
    texts = {name: given[name] for name in _TEXTS if _is_text(given.get(name))}
    ignored += [name for name in _TEXTS if name in given and name not in texts]
    # A package of a resource without a title has its name there.
    if "title" in texts and texts["title"] == given.get("name"):
        del texts["title"]
    if "title" in texts:
        texts["title"] = texts["title"][:MAX_TITLE_LENGTH]
    return PackageMetadata(values, texts, translations, tuple(ignored))


def apply_package_metadata(
    resource: Resource, metadata: PackageMetadata, *, is_new: bool
) -> list[str]:
    """
    Set the values that a resource lacks, and values about the data if the descriptor is new.

    Return the names of what has changed.
    """
    changed = []
    for name, value in metadata.values.items():
        before = getattr(resource, name)
        if before != value and (not before or (is_new and name in _OF_VERSION)):
            setattr(resource, name, value)
            changed.append(name)
    for name, text in metadata.texts.items():
        if not getattr(resource, name):
            setattr(resource, name, text)
            changed.append(name)
    translations = add_translations(resource.translations, metadata.translations)
    if translations != resource.translations:
        resource.translations = translations
        changed.append("translations")
    return changed


def _is_text(given: object) -> bool:
    return isinstance(given, str) and is_storable(given)


# Reading ------------------------------------------------------------------------------------------

_Values = Iterator[tuple[str, Any]]


def _read_licenses(given: Any) -> _Values:
    """Read the first licence: its id, or else its address."""
    first = given[0] if isinstance(given, list) else given
    if isinstance(first, str):
        yield "license", first
        return
    try:
        yield "license", clean_metadata("license", first.get("name") or first.get("path"))
    except ValidationError:
        yield "license", first.get("path") or first.get("url") or first["name"]


def _read_sources(given: Any) -> _Values:
    first = given[0]
    yield "source", first.get("path") or first.get("web") or first.get("title")


def _read_contributors(given: Any) -> _Values:
    """Read the first publisher, and the first contact."""
    found: dict[str, Any] = {}
    for each in given:
        roles = {str(role).lower() for role in (each.get("roles") or [each.get("role")])}
        name = each.get("title") or each.get("organization")
        if roles & _PUBLISHERS:
            found.setdefault("publisher", name)
        if roles & _CONTACTS and "contact" not in found:
            found |= {"contact": name, "contact_email": each.get("email")}
    yield from found.items()


def _read_temporal(given: Any) -> _Values:
    """Read an object with ``start`` and ``end``, or an interval with a slash between them."""
    if isinstance(given, str):
        start, _slash, end = given.partition("/")
    else:
        start, end = given.get("start") or "", given.get("end") or ""
    yield "temporal_start", _cut_day(start)
    yield "temporal_end", _cut_day(end)


def _read_spatial(given: Any) -> _Values:
    yield "spatial", given if isinstance(given, str) else given["name"]


def _read_version(given: Any) -> _Values:
    """Read a version that is a day; most are numbers such as ``1.2.0``."""
    if isinstance(given, str) and _DAY.fullmatch(given):
        yield "version_date", given


def _read_created(given: Any) -> _Values:
    yield "version_date", _cut_day(given)


def _cut_day(given: Any) -> Any:
    """Cut a time from a day."""
    return given[:10]


def _read_text(name: str) -> Callable[[Any], _Values]:
    return lambda given: iter([(name, given)])


#: How each property is read; an earlier one wins.
_READERS: Final[Mapping[str, Callable[[Any], _Values]]] = {
    "licenses": _read_licenses,
    "license": _read_licenses,
    "sources": _read_sources,
    "contributors": _read_contributors,
    "keywords": _read_text("tags"),
    "temporal": _read_temporal,
    "spatial": _read_spatial,
    "frequency": _read_text("frequency"),
    "version": _read_version,
    "created": _read_created,
}
