"""The chart of a question: what it shows and says, its page, and its figures as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from ....downloads.xml_rows import clean_xml
from ....messages.numbers import format_count
from ....search import ConsistentRead, Query
from ..drawings import (
    DrawingView,
    File,
    Option,
    QuestionDrawing,
    list_drawing_files,
    list_options,
)
from ..languages import Phrase, compose_phrase, join_phrases, mark_text
from ..table.query_string import QueryString
from .data import ChartData, Group, Point, Series, read_chart
from .drawing import draw_chart
from .query import EACH, FIGURES, STEPS, ChartParser, ChartQuery


class Chart(QuestionDrawing[ChartQuery, ChartData]):
    """The chart of a question."""

    name = "chart"
    parser_class = ChartParser

    def read(self, read: ConsistentRead, query: Query, shown: ChartQuery) -> ChartData:
        """Read the figures."""
        return read_chart(read, query, shown)

    @property
    def title(self) -> Phrase:
        """The chart in words."""
        return self.shown.title if self.shown else mark_text(_("Chart"))

    def describe(self) -> dict[str, Any]:
        """Describe the chart for its templates."""
        chart, data = self.shown, self.data
        context = {"title": str(self.resource), "errors": self.errors, "chart": chart}
        if not chart or not data:
            return context
        series = [mark_text(each.label, each.language) for each in data.series]
        return context | {
            "drawing": self.svg,
            "summary": join_phrases(" ", list(_summarise(chart, data))).html,
            "series": [each.html for each in (series if chart.split else [chart.figure_label])],
            "shows_records": chart.figure != "count",
            "rows": [self._describe_row(chart, group) for group in data.groups],
        }

    def describe_page(self, address: QueryString) -> dict[str, Any]:
        """Describe what can be chosen, with what the chart has, and propose other charts."""
        chosen = dict(self.pairs)
        measurable = list_options(self.parser.measurable)
        groupable = list_options(self.parser.groupable)
        figures = tuple(Option(name, str(label)) for name, label in FIGURES.items())
        steps = tuple(Option(name, str(label)) for name, label in STEPS.items())
        none = Option("", _("nothing"))
        choices = [
            ("show", _("Show"), figures if measurable else figures[:1]),
            ("of", _("of"), (none, *measurable)),
            ("by", _("by"), groupable),
            ("per", _("in steps"), (Option("", _("chosen by the field")), *steps)),
            ("split", _("split by"), (none, *groupable)),
        ]
        return {
            "choices": [(*each, chosen.get(each[0], "")) for each in choices],
            "proposals": [
                (chart.title, QueryString((*self.question.pairs, *chart.pairs)).link)
                for chart in self.parser.propose(self.shown)
            ],
        }

    @cached_property
    def svg(self) -> SafeString:
        """The drawing; empty if there is nothing to draw."""
        if not self.shown or not self.data:
            return SafeString()
        has_categories = self.shown.has_categories
        drawing = draw_chart(self.data, self.title.text, has_categories=has_categories)
        if drawing is None:
            return SafeString()
        context = {"drawing": drawing, "language": get_language()}
        return SafeString(clean_xml(render_to_string("datastore_search/chart.svg", context)))

    def list_files(self) -> dict[str, Callable[[], File]]:
        """List the drawing and the figures."""
        files = list_drawing_files(self.svg)
        chart, data = self.shown, self.data
        if chart and data:
            files["csv"] = lambda: ("text/csv; charset=utf-8", _write_csv(chart, data))
        return files

    def _describe_row(self, chart: ChartQuery, group: Group) -> dict[str, Any]:
        """Describe a group in the table of figures, with the link to its records if any."""
        address = None
        if group.key is None:
            address = self.question.add(f"empty.{chart.by.name}", "yes")
        elif chart.step == EACH and group.key != "":
            key = str(group.key).lower() if isinstance(group.key, bool) else group.key
            address = self.question.add(f"field.{chart.by.name}", key)
        link = f"{self.page_path}{address.query}" if address and self.page_path is not None else ""
        return {"group": group, "link": link, "record_count": format_count(group.record_count)}


class ChartView(DrawingView):
    """The page of a chart."""

    template = "chart.html"
    drawing_class = Chart


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
            names = [series.label] if chart.split else []
            writer.writerow([key, *names, "" if point is None else point.digits])
    return lines.getvalue()
