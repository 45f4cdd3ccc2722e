"""The chart of a question: a page with its form, drawing and figures, and the files of both."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from ..clients import Client
from ..exceptions.parameters import InvalidParameter, InvalidParameters
from ..http_caching import set_cache_headers
from ..models import read_profiles
from ..search import ConsistentRead, Query, with_consistent_read
from .bidi import show_bidi_controls
from .chart_data import ChartData, Group, Point, read_chart
from .chart_drawing import draw_chart
from .chart_query import EACH, FIGURES, STEPS, ChartParser, ChartQuery
from .chips import build_chips
from .columns import Column, build_columns
from .links import reverse_in_locale
from .page_query import (
    OF_TABLE,
    PageQuery,
    clean_parameters,
    list_shared_parameters,
    parse_page_query,
)
from .query_string import Pair, QueryString
from .records import format_count
from .views import PageView

#: The files of a chart, by the parameter ``format``.
FORMATS = ("svg", "csv")


@dataclass(frozen=True, slots=True)
class Choice:
    """A list of options: their values and labels, and the chosen value."""

    name: str
    label: str
    options: tuple[Pair, ...]
    value: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """A group in the table of figures, and the link to its records; empty where there is none."""

    group: Group
    link: str
    record_count: str


class ChartView(PageView):
    """A chart of the records that a question finds."""

    def get(self, request: HttpRequest, resource_id: uuid.UUID) -> HttpResponse:
        """
        Show the chart, or send it as a file.

        Raises: ``UnknownResource``, ``AccessDenied`` and what ``analysis`` raises.
        """
        return with_consistent_read(resource_id, self._answer, client=Client.from_request(request))

    def _answer(self, read: ConsistentRead) -> HttpResponse:
        resource = read.resource
        validators = self.authorize_read(resource)
        query = parse_page_query(clean_parameters(self.request.GET), resource)
        profiles = read_profiles(resource.table_version_id, using=read.connection.alias)
        columns = build_columns(resource)
        parser = ChartParser(columns, profiles.fields if profiles else {})
        question = query.query_string.remove(*OF_TABLE)
        errors = list(_list_errors(query))
        chart, data = None, None
        try:
            chart = parser.parse(self.request.GET)
            if chart and not errors:
                search = Query(limit=None, q=query.q, filters=query.all_conditions)
                data = read_chart(read, search, chart)
        except InvalidParameter as error:
            errors.append(str(error))
        except InvalidParameters as error:
            errors += map(str, error.errors)
        pairs = chart.pairs if chart else ()
        self.shared_parameters = [*list_shared_parameters(query), *pairs]
        if chart and data and self.request.GET.get("format") in FORMATS:
            response = _build_file(self.request.GET["format"], chart, data)
            set_cache_headers(response, private=resource.private, vary=("Cookie",))
            return response
        address = QueryString((*question.pairs, *pairs))
        shown = replace(query, query_string=address, sort=(), fields=(), hidden=())
        context: dict[str, Any] = {
            "resource": resource,
            "title": show_bidi_controls(str(resource)),
            "page_address": reverse_in_locale(self.request, "resource", resource.pk)
            + question.query,
            "address": self.request.path,
            "chips": build_chips(shown, {column.name: column.label for column in columns}),
            "errors": errors,
            "hidden": question.pairs,
            "choices": _list_choices(parser, chart),
            "proposals": parser.propose(question, chart),
            "chart": chart,
        }
        if chart and data:
            context |= _describe(chart, data, question, address)
        status = HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK
        response = self.render_page("chart.html", context, private=resource.private, status=status)
        if validators and not errors:
            validators.set_headers(response, self.request)
        return response


def _list_errors(query: PageQuery) -> Iterator[str]:
    yield from query.errors
    yield from query.q_errors
    for condition in query.conditions:
        if condition.error:
            yield condition.error


def _list_choices(parser: ChartParser, chart: ChartQuery | None) -> list[Choice]:
    """List what can be chosen, with what the chart has."""
    chosen = dict(chart.pairs) if chart else {}
    measurable = _list_options(parser.measurable)
    groupable = _list_options(parser.groupable)
    figures = tuple((name, str(label)) for name, label in FIGURES.items())
    steps = tuple((name, str(label)) for name, label in STEPS.items())
    none = ("", _("nothing"))
    choices = [
        ("show", _("Show"), figures if measurable else figures[:1]),
        ("of", _("of"), (none, *measurable)),
        ("by", _("by"), groupable),
        ("per", _("in steps"), (("", _("chosen by the field")), *steps)),
        ("split", _("split by"), (none, *groupable)),
    ]
    return [Choice(name, label, options, chosen.get(name, "")) for name, label, options in choices]


def _list_options(columns: Sequence[Column]) -> tuple[Pair, ...]:
    return tuple((column.name, column.label) for column in columns)


def _describe(
    chart: ChartQuery, data: ChartData, question: QueryString, address: QueryString
) -> dict[str, Any]:
    """Describe the chart for the template."""
    return {
        "drawing": _draw(chart, data),
        "summary": " ".join(_summarise(chart, data)),
        "series": data.series if chart.split else (chart.figure_label,),
        "shows_records": chart.figure != "count",
        "rows": [_build_row(chart, group, question) for group in data.groups],
        "files": [(name.upper(), address.replace("format", name).link) for name in FORMATS],
    }


def _draw(chart: ChartQuery, data: ChartData) -> SafeString:
    drawing = draw_chart(data, chart.title, has_categories=chart.has_categories)
    if drawing is None:
        return SafeString()
    return render_to_string("datastore_search/chart.svg", {"drawing": drawing})


def _build_row(chart: ChartQuery, group: Group, question: QueryString) -> TableRow:
    link = ""
    if group.key is None:
        link = f"../{question.add(f'empty.{chart.by.name}', 'yes').query}"
    elif chart.step == EACH and group.key != "":
        key = str(group.key).lower() if isinstance(group.key, bool) else group.key
        link = f"../{question.add(f'field.{chart.by.name}', key).query}"
    return TableRow(group, link, format_count(group.record_count))


def _summarise(chart: ChartQuery, data: ChartData) -> Iterator[str]:
    """Say in words what the chart shows."""
    points = [
        (point, group, name)
        for group in data.groups
        for point, name in zip(group.points, data.series, strict=True)
        if point is not None
    ]
    if points:
        highest = max(points, key=lambda each: each[0].size)
        lowest = min(points, key=lambda each: each[0].size)
        yield _("The highest is %(highest)s (%(group)s), the lowest %(lowest)s (%(other)s).") % {
            "highest": highest[0].text,
            "group": _name(*highest),
            "lowest": lowest[0].text,
            "other": _name(*lowest),
        }
    if data.group_total > len(data.groups):
        yield _("Only the %(shown)s largest of %(total)s groups are shown.") % {
            "shown": format_count(len(data.groups)),
            "total": format_count(data.group_total),
        }
    if chart.split and data.series_total > len(data.series):
        yield _("Only the %(shown)s most common of %(total)s values of %(field)s are shown.") % {
            "shown": format_count(len(data.series)),
            "total": format_count(data.series_total),
            "field": chart.split.label,
        }


def _name(_point: Point, group: Group, series: str) -> str:
    return f"{group.label}, {series}" if series else group.label


# Files --------------------------------------------------------------------------------------------


def _build_file(name: str, chart: ChartQuery, data: ChartData) -> HttpResponse:
    """Write the drawing as SVG, or the figures as CSV."""
    if name == "svg":
        response = HttpResponse(_draw(chart, data), content_type="image/svg+xml")
    else:
        response = HttpResponse(_write_csv(chart, data), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="chart.{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _write_csv(chart: ChartQuery, data: ChartData) -> str:
    """Write a row for each point; values as the API has them, an empty cell for none."""
    lines = io.StringIO()
    writer = csv.writer(lines)
    figure = f"{chart.figure}_{chart.of.name}" if chart.of else chart.figure
    split = [chart.split.name] if chart.split else []
    writer.writerow([chart.by.name, *split, figure])
    for group in data.groups:
        key = "" if group.key is None else group.key
        for point, series in zip(group.points, data.series, strict=True):
            names = [series] if chart.split else []
            writer.writerow([key, *names, "" if point is None else point.digits])
    return lines.getvalue()
