"""
Areas that values name: those of resources of the portal, and countries.

A map of points has the former below its points.  A field that names areas has a map of its figures.
"""

from __future__ import annotations

import gzip
import json
import math
import pathlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import get_language, gettext as _

from ....field_types import is_storable
from ....filters.places import GEOMETRIES, find_place_fields
from ....filters.words import remove_diacritics
from ....guards.cache import BoundedCache
from ....guards.shares import Client
from ....messages.availability import QueryTooSlow, TemporarilyUnavailable
from ....models import Resource
from ....search import ConsistentRead, Profiles, Query, find_profiles, with_consistent_read
from ...analysis.errors import TooManyChartGroups
from ...analysis.groups import GroupBy
from ..charts.data import (
    ChartData,
    Figure,
    Group,
    Point,
    Value,
    add_numbers,
    build_point,
    read_figures,
)
from ..charts.query import ChartQuery, Grouping
from ..columns import MAX_VALUE_LENGTH, Column, build_columns, find_column, find_name
from ..conf import conf
from ..question import QueryString
from ..records import write_name
from .places import MapQuery, MapReader, Path, list_paths

#: Areas of a resource, and fields that may name them.
MAX_AREAS, _MAX_FIELDS = 1_000, 20

_MAX_CODE_LENGTH = 3

#: The share of records with known areas that proposes a map, and that of codes of two letters.
_MIN_SHARE, _MIN_SHARE_OF_CODES = 0.6, 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """An area with its rings, and the texts that name it, which may name others, too."""

    name: str
    language: str
    paths: tuple[Path, ...]
    texts: Iterable[object]


Areas = Sequence[Area]


@lru_cache(maxsize=8)
def _read_countries(language: str) -> Areas:
    content = pathlib.Path(__file__).with_name("countries.geojson.gz").read_bytes()
    features = json.loads(gzip.decompress(content))["features"]
    own = language if language in features[0]["properties"] else "en"
    return [
        Area(names[own], own, tuple(list_paths(each["geometry"])), names.values())
        for each in features
        for names in [each["properties"]]
    ]


def list_area_resources(client: Client | None) -> list[Resource]:
    """List the resources with areas that a client may read."""
    user = (client and client.read_user()) or AnonymousUser()
    names = filter(is_storable, conf.MAP_TILES.get("areas", "").split())
    found = filter(None, (Resource.objects.named(name).first() for name in names))
    return [each for each in found if each.is_readable_by(user)]


#: What is read of resources with areas, by version; and the fields that name areas.
_areas: BoundedCache[Hashable, Areas] = BoundedCache("areas", 20)
_proposals: BoundedCache[Hashable, str] = BoundedCache("fields with areas", 5_000)


def read_areas(client: Client | None) -> list[Areas]:
    """Read the areas of each resource that a client may read."""
    return [with_consistent_read(each.pk, _read_areas) for each in list_area_resources(client)]


def _read_areas(read: ConsistentRead) -> Areas:
    """Read areas, named by the texts that are different in most records."""
    columns, language = build_columns(read.resource), read.resource.content_language
    kinds = {each.name: each.type.name for each in columns if each.type.name in GEOMETRIES}
    place, known = find_place_fields(kinds, {}), _areas.get(read.version_key)
    shape = find_column(place.geometry, columns) if place else None
    if known is not None or not shape:
        return known or ()
    texts = [each for each in columns if each.type.is_text and each != shape]
    profiles = find_profiles(read, [each.name for each in texts[:_MAX_FIELDS]]) or {}
    names = [each for each, facts in profiles.items() if 2 * facts["distinct"] > facts["count"]]
    title = find_name(texts, profiles) or find_name(texts, profiles, 2)
    shown = MapQuery(None, None, shape, title)
    reader = MapReader(read, Query(None), shown, QueryString(()), None)
    areas = [
        Area(write_name(title, record), language, rings, [record[name] for name in names])
        for record, paths in reader.read_shapes(reader.query, MAX_AREAS, shape, *texts)
        if (rings := tuple(each for each in paths if each.is_area))
    ]
    if read.version_key and profiles:
        _areas.add(read.version_key, areas)
    return areas


def list_layers() -> list[str]:
    """List what maps show of ``land``, ``borders`` and ``names``."""
    return conf.MAP_TILES.get("outlines", "land borders names").split()


def _match(
    client: Client | None, counts: Mapping[str, int]
) -> tuple[float, Areas, dict[str, Area | None]]:
    """
    Match texts with the areas that most records name, of the portal or countries.

    The results are the share of these records, the areas, and that of each text, None if there are
    several.  Its exact spelling is first: NGA is Nigeria's code, Nga Russia's Vietnamese name.
    """
    countries = [_read_countries((get_language() or "")[:2])] if "borders" in list_layers() else []
    best: tuple[float, Areas, dict[str, Area | None]] = (0.0, (), {})
    for areas in [*read_areas(client), *countries]:
        index = dict[str, Area | None]()
        for area in areas:
            for text in map(str, filter(None, area.texts)):
                for key in (text, _fold_name(text)):
                    index[key] = area if index.get(key, area) is area else None
        keys = {text: text if text in index else _fold_name(text) for text in counts}
        found = {text: index[key] for text, key in keys.items() if key and key in index}
        known = sum(counts[text] for text, area in found.items() if area)
        share = known / (sum(counts.values()) or 1)
        best = max(best, (share, areas, found), key=lambda each: each[0])
    return best


def _fold_name(text: str) -> str:
    """Fold the case of a name, and its accents, unless it would become a code: Mỹ is not MY."""
    name = " ".join(text.casefold().split())
    return name if len(name) <= _MAX_CODE_LENGTH else remove_diacritics(name)


def propose_areas(read: ConsistentRead, columns: Sequence[Column], profiles: Profiles) -> str:
    """Propose the text that names areas in the most records, if most do; it may be empty."""
    resources = list_area_resources(read.session.client) if conf.MAP_TILES.get("areas") else ()
    key = (read.version_key, *profiles, *((each.pk, each.version) for each in resources))
    if read.version_key and (known := _proposals.get(key)) is not None:
        return known
    best, proposed = 0.0, ""
    with suppress(QueryTooSlow, TemporarilyUnavailable), read.session.contain_failure():
        for column in columns:
            facts = profiles.get(column.name) if column.type.is_text else None
            if not facts or facts["nulls"] > facts["count"] or facts["longest"] > MAX_VALUE_LENGTH:
                continue
            counts = {str(each["value"]): each["count"] for each in facts.get("top", ())}
            if not counts and facts["distinct"] <= MAX_AREAS:
                chart = ChartQuery("count", None, Grouping(column, GroupBy(column.name)))
                rows, _total = read_figures(read, Query(None), chart, MAX_AREAS)
                counts = {str(row.key): row.record_count for row in rows if row.key}
            share = _match(read.session.client, counts)[0]
            least = _MIN_SHARE if facts["longest"] > len("XX") else _MIN_SHARE_OF_CODES
            if least <= share > best:
                best, proposed = share, column.name
        if read.version_key:
            _proposals.add(key, proposed)
    return proposed


# Figures ------------------------------------------------------------------------------------------

#: Classes of figures, of as many areas each as far as that can be.
CLASSES = 5


class AreaFigures(NamedTuple):
    """
    The first ``areas`` have figures, each in one of ``levels``; the ``legend`` has their ends.

    Of the other values, ``unknown`` ones name no area, and ``ambiguous`` ones several.
    """

    data: ChartData
    areas: Areas
    levels: Sequence[int]
    legend: Sequence[str]
    unknown: Sequence[Figure]
    ambiguous: Sequence[Figure]


def read_area_figures(read: ConsistentRead, query: Query, chart: ChartQuery) -> AreaFigures:
    """
    Read the figures of areas, the largest first; a mean or median of several spellings is unknown.

    Raises: ``TooManyChartGroups``, and as ``analysis.aggregates.read_aggregate``.
    """
    rows, total = read_figures(read, query, chart)
    if total > len(rows):
        raise TooManyChartGroups
    named = {str(row.key or ""): row for row in rows}
    counts = {text: row.record_count for text, row in named.items()}
    _share, areas, found = _match(read.session.client, counts)
    spellings, groups = defaultdict[Area, list[str]](list), dict[Area, Group]()
    for text, area in found.items():
        if area:
            spellings[area].append(text)
    for area, texts in spellings.items():
        numbers = [value for text in texts if (value := named[text].value) is not None]
        is_known = numbers and (chart.is_additive or len(texts) == 1)
        point = build_point(chart, add_numbers(numbers) if is_known else None)
        conditions = tuple((f"field.{chart.by.column.name}", text) for text in texts)
        label = Value(area.name, area.name, area.language, conditions)
        groups[area] = Group(label, (point,), sum(counts[text] for text in texts))
    sizes = {
        area: each.points[0].size if each.points[0] else -math.inf for area, each in groups.items()
    }
    ranked = sorted(groups, key=sizes.__getitem__, reverse=True)
    shown = tuple(groups[area] for area in ranked)
    levels, legend = _classify([each.points[0] for each in shown])
    unknown = [row for row in rows if str(row.key or "") not in found]
    return AreaFigures(
        ChartData(chart, shown, (Value(),), len(shown), 1),
        [*ranked, *(area for area in areas if area not in groups)],
        levels,
        legend,
        unknown,
        [named[text] for text, area in found.items() if not area],
    )


def _classify(points: Sequence[Point | None]) -> tuple[list[int], list[str]]:
    """Find the class of each figure, from 1 on, and write the ends of the classes."""
    numbers = sorted(each.value for each in points if each)
    steps = (-(-len(numbers) * each // CLASSES) for each in range(1, CLASSES + 1) if numbers)
    ends, none = [*dict.fromkeys(numbers[each - 1] for each in steps)], CLASSES + 1
    levels = [none - len(ends) + bisect_left(ends, p.value) if p else none for p in points]
    legend = []
    for level in range(1, none):
        texts = [p.text for p, own in zip(points, levels, strict=True) if p and own == level]
        legend.append("–".join(dict.fromkeys((*texts[-1:], *texts[:1]))))
    return levels, [*legend, _("no data")]
