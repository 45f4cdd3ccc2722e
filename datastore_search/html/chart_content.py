"""What a chart shows, for its page, for a frame, and for a portal's own template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from ..exceptions.parameters import InvalidParameter, InvalidParameters
from ..messages.numbers import format_count
from ..models import read_profiles
from ..search import ConsistentRead, Query
from ..xml_text import clean_xml
from .chart_data import ChartData, Group, Point, Series, read_chart
from .chart_drawing import draw_chart
from .chart_query import EACH, ChartParser, ChartQuery
from .columns import Column
from .languages import Phrase, compose_phrase, join_phrases, mark_text
from .page_query import PageQuery
from .parameter_errors import describe_parameter_errors
from .query_string import QueryString


@dataclass(frozen=True, slots=True)
class Chart:
    """
    The chart of a question and its figures.

    ``query`` is None where no field suits, ``data`` also where there are ``errors``.
    """

    parser: ChartParser
    query: ChartQuery | None
    data: ChartData | None
    errors: list[str]


def read_question_chart(
    read: ConsistentRead,
    question: PageQuery,
    columns: Sequence[Column],
    parameters: Mapping[str, str],
) -> Chart:
    """Read the chart of a question that the ``parameters`` of its address choose."""
    profiles = read_profiles(read.resource.table_version_id, using=read.connection.alias)
    parser = ChartParser(columns, profiles.fields if profiles else {})
    errors = question.all_errors
    query, data = None, None
    try:
        query = parser.parse(parameters)
        if query and not errors:
            search = Query(limit=None, q=question.q, filters=question.all_conditions)
            data = read_chart(read, search, query)
    except (InvalidParameter, InvalidParameters) as error:
        errors += describe_parameter_errors(error)
    return Chart(parser, query, data, errors)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A group in the table of figures, and the link to its records; empty where there is none."""

    group: Group
    link: str
    record_count: str


def describe_chart(
    chart: ChartQuery, data: ChartData, question: QueryString, page_path: str | None
) -> dict[str, Any]:
    """Describe a chart for its templates; ``page_path`` leads to the data page, if any."""
    return {
        "drawing": draw_svg(chart, data),
        "summary": join_phrases(" ", list(_summarise(chart, data))).html,
        "series": _list_headings(chart, data),
        "shows_records": chart.figure != "count",
        "rows": [_build_row(chart, group, question, page_path) for group in data.groups],
    }


def draw_svg(chart: ChartQuery, data: ChartData) -> SafeString:
    """Draw a chart as SVG; empty if there is nothing to draw."""
    drawing = draw_chart(data, chart.title.text, has_categories=chart.has_categories)
    if drawing is None:
        return SafeString()
    context = {"drawing": drawing, "language": get_language()}
    return SafeString(clean_xml(render_to_string("datastore_search/chart.svg", context)))


def _list_headings(chart: ChartQuery, data: ChartData) -> list[SafeString]:
    """List the headings of the columns with figures."""
    if not chart.split:
        return [chart.figure_label.html]
    return [mark_text(each.label, each.language).html for each in data.series]


def _build_row(
    chart: ChartQuery, group: Group, question: QueryString, page_path: str | None
) -> TableRow:
    address = None
    if group.key is None:
        address = question.add(f"empty.{chart.by.name}", "yes")
    elif chart.step == EACH and group.key != "":
        key = str(group.key).lower() if isinstance(group.key, bool) else group.key
        address = question.add(f"field.{chart.by.name}", key)
    link = "" if address is None or page_path is None else f"{page_path}{address.query}"
    return TableRow(group, link, format_count(group.record_count))


def _summarise(chart: ChartQuery, data: ChartData) -> Iterator[Phrase]:
    """Say in words what the chart shows."""
    points = [
        (point, group, series)
        for group in data.groups
        for point, series in zip(group.points, data.series, strict=True)
        if point is not None
    ]
    if points:
        highest = max(points, key=lambda each: each[0].size)
        lowest = min(points, key=lambda each: each[0].size)
        yield compose_phrase(
            _("The highest is %(highest)s (%(group)s), the lowest %(lowest)s (%(other)s)."),
            highest=highest[0].text,
            group=_name(*highest),
            lowest=lowest[0].text,
            other=_name(*lowest),
        )
    if data.group_total > len(data.groups):
        yield compose_phrase(
            _("Only the %(shown)s largest of %(total)s groups are shown."),
            shown=format_count(len(data.groups)),
            total=format_count(data.group_total),
        )
    if chart.split and data.series_total > len(data.series):
        yield compose_phrase(
            _("Only the %(shown)s most common of %(total)s values of %(field)s are shown."),
            shown=format_count(len(data.series)),
            total=format_count(data.series_total),
            field=chart.split.marked_label,
        )


def _name(_point: Point, group: Group, series: Series) -> Phrase:
    names = [mark_text(each.label, each.language) for each in (group, series) if each.label]
    return join_phrases(", ", names)
