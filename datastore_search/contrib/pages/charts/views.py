"""The chart of a question: what it shows and says, its page, and its figures as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

from django.utils.translation import gettext as _

from ....downloads.delimited import disarm
from ....messages.numbers import format_count
from ....search import ConsistentRead, Query
from ...analysis.errors import TooManyChartGroups
from ..drawings import DrawingView, File, Option, QuestionDrawing, list_options
from ..languages import Phrase, compose_phrase, join_phrases, mark_text
from ..table.query_string import Pair, QueryString
from .data import OTHERS, ChartData, Point, Value, read_chart
from .drawing import STYLES, Drawing, draw_chart
from .query import FIGURES, FORMS, STEPS, ChartParser, ChartQuery


class Chart(QuestionDrawing[ChartQuery, ChartData]):
    """The chart of a question."""

    name = "chart"
    parser_class = ChartParser

    def read(self, read: ConsistentRead, query: Query, shown: ChartQuery) -> ChartData:
        """Read the figures, in the proposed steps where the chosen ones are too many."""
        try:
            return read_chart(read, query, shown)
        except TooManyChartGroups:
            chosen = {name: value for name, value in shown.pairs if name != "per"}
            self.shown = proposed = self.parser.parse(chosen)
            if proposed in (shown, None):
                raise
            return read_chart(read, query, proposed)

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
            "drawing": self.drawing,
            "legend": [
                (colour, label.html)
                for (colour, _dashes), label in zip(STYLES, series, strict=False)
                if chart.split
            ],
            "summary": join_phrases(" ", list(_summarise(chart, data))).html,
            "series": [each.html for each in (series if chart.split else [chart.figure_label])],
            "shows_records": chart.figure != "count",
            "rows": [
                (group, self._link(group.value), format_count(group.record_count))
                for group in data.groups
            ],
        }

    def describe_page(self, address: QueryString) -> dict[str, Any]:
        """Describe what can be chosen, with what the chart has, and propose other charts."""
        # A step or a form that was only proposed does not hold for other fields.
        proposed = {"per", "as"} - self.sent.keys()
        chosen = {name: value for name, value in self.pairs if name not in proposed}
        measurable = list_options(self.parser.measurable)
        groupable = list_options(self.parser.groupable)
        figures, steps, forms = (
            tuple(Option(name, str(label)) for name, label in table.items())
            for table in (FIGURES, STEPS, FORMS)
        )
        none = Option("", _("no field"))
        choices = [
            ("show", _("Show"), figures if measurable else figures[:1]),
            ("of", _("of"), (none, *measurable)),
            ("by", _("by"), groupable),
            ("per", _("in steps"), (Option("", _("chosen by the field")), *steps)),
            ("split", _("split by"), (none, *groupable)),
            ("as", _("drawn as"), (Option("", _("proposed")), *forms)),
        ]
        return {
            "choices": [(*each, chosen.get(each[0], "")) for each in choices],
            "proposals": [
                (chart.title, QueryString((*self.question.pairs, *chart.pairs)).link)
                for chart in self.parser.propose(self.shown)
            ],
        }

    def build_drawing(self, *, is_file: bool) -> Drawing | None:
        """Build the drawing; None if there is nothing to draw."""
        if not self.shown or not self.data:
            return None
        link = (lambda *_values: "") if is_file else self._link
        return draw_chart(self.shown, self.data, self.title.text, link)

    def list_files(self) -> dict[str, Callable[[], File]]:
        """List the drawing and the figures."""
        files, chart, data = super().list_files(), self.shown, self.data
        if chart and data:
            files["csv"] = lambda: ("text/csv; charset=utf-8", _write_csv(chart, data))
        return files

    def _link(self, *values: Value) -> str:
        """Link to the records of a mark; empty if an address cannot ask for them."""
        own: list[Pair] = []
        for value in values:
            if self.page_path is None or value.conditions is None:
                return ""
            own += value.conditions
        question = self.question
        for name, text in own:
            operator, _dot, field = name.partition(".")
            # A field has one of its values, or is empty.
            if operator == "field" or (operator, text) == ("empty", "yes"):
                question = question.remove(f"field.{field}", f"empty.{field}")
        return f"{self.page_path}{QueryString((*question.pairs, *own)).query}"


class ChartView(DrawingView):
    """The page of a chart."""

    template = "chart.html"
    drawing_class = Chart


def _summarise(chart: ChartQuery, data: ChartData) -> Iterator[Phrase]:
    """Say in words what the chart shows."""
    points = [
        (point, group.value, series)
        for group in data.groups
        for point, series in zip(group.points, data.series, strict=True)
        if point is not None
    ]
    has_others = any(each.key == OTHERS for each in data.series)
    is_cut = has_others or data.series_total > len(data.series)
    if points:
        highest = max(points, key=lambda each: each[0].size)
        lowest = min(points, key=lambda each: each[0].size)
        yield compose_phrase(
            _(
                "Of those shown, the highest is %(highest)s (%(group)s), the lowest %(lowest)s"
                " (%(other)s)."
            )
            if is_cut or data.group_total > len(data.groups)
            else _("The highest is %(highest)s (%(group)s), the lowest %(lowest)s (%(other)s)."),
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
    if chart.split and not chart.is_additive and data.series_total > len(data.series):
        yield compose_phrase(
            _("Only %(shown)s of %(total)s values of %(field)s are shown."),
            shown=format_count(len(data.series)),
            total=format_count(data.series_total),
            field=chart.split.column.marked_label,
        )


def _name(_point: Point, *values: Value) -> Phrase:
    names = [mark_text(each.label, each.language) for each in values if each.label]
    return join_phrases(", ", names)


def _write_csv(chart: ChartQuery, data: ChartData) -> str:
    """
    Write a row for each point; values as the API has them, an empty cell for none.

    A text that a spreadsheet may calculate gets an apostrophe.
    """
    lines = io.StringIO()
    writer = csv.writer(lines)
    figure = f"{chart.figure}_{chart.of.name}" if chart.of else chart.figure
    split = [chart.split.column.name] if chart.split else []
    writer.writerow(map(disarm, [chart.by.column.name, *split, figure]))
    for group in data.groups:
        key = "" if group.value.key is None else group.value.key
        key = disarm(key) if type(key) is str else key
        for point, series in zip(group.points, data.series, strict=True):
            names = [disarm(series.label)] if chart.split else []
            writer.writerow([key, *names, "" if point is None else point.digits])
    return lines.getvalue()
