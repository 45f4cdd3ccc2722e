"""
The specification of a chart for Vega-Lite, with its figures in it.

Its fields have names of their own: dots and brackets in names would be paths for Vega-Lite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.formats import get_format
from django.utils.translation import gettext as _

from .chart_data import ChartData
from .chart_query import ChartQuery
from .scatter_data import compute_place
from .typed_values import NUMBERS

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_WIDTH, _HEIGHT = 640, 320
_MILLISECONDS_PER_DAY = 86_400_000

Json = dict[str, Any]

#: Let the reader move the chart and change its scale.
_MOVABLE = [{"name": "view", "select": "interval", "bind": "scales"}]


def build_specification(chart: ChartQuery, data: ChartData) -> Json:
    """Build the specification of the drawing that the page shows."""
    build = _build_points if chart.has_points else _build_groups
    return {
        "$schema": _SCHEMA,
        "title": chart.title.text,
        "background": "white",
        "config": {"locale": {"number": _describe_numbers()}},
        **build(chart, data),
    }


def _describe_numbers() -> Mapping[str, object]:
    return {
        "decimal": get_format("DECIMAL_SEPARATOR"),
        "thousands": get_format("THOUSAND_SEPARATOR"),
        "grouping": [3],
        "currency": ["", ""],
    }


def _build_groups(chart: ChartQuery, data: ChartData) -> Json:
    values = [
        {"group": group.label, "series": series.label, "value": point.size}
        for group in data.groups
        if group.is_on_axis
        for point, series in zip(group.points, data.series, strict=True)
        if point is not None
    ]
    groups: Json = {"field": "group", "type": "nominal", "sort": None, "title": chart.by.label}
    figures: Json = {"field": "value", "type": "quantitative", "title": chart.figure_label.text}
    if chart.has_categories:
        encoding, mark, size = {"y": groups, "x": figures}, "bar", {"width": _WIDTH}
    else:
        encoding, size = {"x": groups, "y": figures}, {"width": _WIDTH, "height": _HEIGHT}
        mark = "line" if chart.split else "bar"
    shown = [groups, figures]
    if chart.split:
        series = {"field": "series", "type": "nominal", "sort": None, "title": chart.split.label}
        encoding["color"] = series
        shown.append(series)
        if mark == "bar":
            encoding["yOffset"] = {"field": "series", "sort": None}
    return _compose(values, {"type": mark, "point": mark == "line"}, encoding, shown, **size)


def _build_points(chart: ChartQuery, data: ChartData) -> Json:
    is_number = chart.by.type in NUMBERS
    is_counted = any(group.bounds for group in data.groups)
    values = [
        {
            "x": place if is_number else place * _MILLISECONDS_PER_DAY,
            "y": point.size,
            **({"records": group.record_count} if is_counted else {}),
        }
        for group in data.groups
        for point in group.points
        if point and (place := compute_place(chart.by, group.key)) is not None
    ]
    across: Json = {"field": "x", "title": chart.by.label, "scale": {"zero": False}}
    across["type"] = "quantitative"
    if not is_number:
        across |= {"type": "temporal", "scale": {"type": "utc"}}
    up = {"field": "y", "type": "quantitative", "title": chart.figure_label.text}
    encoding: Json = {"x": across, "y": {**up, "scale": {"zero": False}}}
    shown = [across, up]
    if is_counted:
        encoding["size"] = {"field": "records", "type": "quantitative", "title": _("Records")}
        shown.append(encoding["size"])
    mark = {"type": "circle", "opacity": 0.7}
    size = {"width": _WIDTH, "height": _HEIGHT}
    return {**_compose(values, mark, encoding, shown, **size), "params": _MOVABLE}


def _compose(
    values: list[Json], mark: Json, encoding: Json, shown: Sequence[Json], **size: int
) -> Json:
    """Compose a specification; what is pointed at says the fields ``shown``."""
    tooltip = [{key: each[key] for key in ("field", "type", "title")} for each in shown]
    return {
        "data": {"values": values},
        "mark": mark,
        "encoding": {**encoding, "tooltip": tooltip},
        **size,
    }
