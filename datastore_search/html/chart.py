"""The chart of a question: a page with its form, drawing and figures, and the files of both."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from ..guards.clients import Client
from ..http_caching import set_cache_headers
from ..search import ConsistentRead, with_consistent_read
from .chart_content import describe_chart, read_question_chart
from .chart_data import ChartData
from .chart_query import FIGURES, STEPS, ChartParser, ChartQuery
from .chips import build_chips
from .columns import Column, build_columns
from .links import reverse_in_locale
from .page_query import (
    OF_TABLE,
    clean_parameters,
    list_shared_parameters,
    parse_page_query,
)
from .png import can_draw_png, draw_png
from .query_string import QueryString
from .views import PageView


class Option(NamedTuple):
    """What can be chosen: the value, the label, and the language of the label."""

    value: str
    label: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A list of options, and the chosen value."""

    name: str
    label: str
    options: tuple[Option, ...]
    value: str


class ChartView(PageView):
    """A chart of the records that a question finds."""

    can_be_embedded = True

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
        columns = build_columns(resource)
        question = query.query_string.remove(*OF_TABLE)
        found = read_question_chart(read, query, columns, self.request.GET)
        chart, data = found.query, found.data
        pairs = chart.pairs if chart else ()
        self.shared_parameters = [*list_shared_parameters(query), *pairs]
        content = describe_chart(chart, data, question, "../") if chart and data else {}
        files = list_drawing_files(content.get("drawing", ""))
        if chart and data:
            files["csv"] = lambda: ("text/csv; charset=utf-8", _write_csv(chart, data))
        if (name := self.request.GET.get("format", "")) in files:
            response = build_file_response("chart", name, *files[name]())
            set_cache_headers(response, private=resource.private, vary=("Cookie",))
            return response
        address = QueryString((*question.pairs, *pairs))
        shown = replace(query, query_string=address, sort=(), fields=(), hidden=())
        context: dict[str, Any] = {
            "resource": resource,
            "title": str(resource),
            "chips": build_chips(shown, columns),
            "errors": found.errors,
            "chart": chart,
            **content,
        }
        if self.is_embedded:
            context["whole_address"] = address.link
        else:
            context |= {
                "page_address": reverse_in_locale(self.request, "resource", resource.pk)
                + question.query,
                "address": self.request.path,
                "hidden": question.pairs,
                "choices": _list_choices(found.parser, chart),
                "proposals": found.parser.propose(question, chart),
                "files": [(name.upper(), address.replace("format", name).link) for name in files],
            }
            if chart and data:
                context |= self.describe_embedding(address.pairs, chart.title.text)
        response = self.render_page(
            "embedded_chart.html" if self.is_embedded else "chart.html",
            context,
            private=resource.private,
            status=HTTPStatus.BAD_REQUEST if found.errors else HTTPStatus.OK,
        )
        if validators and not found.errors:
            validators.set_headers(response, self.request)
        return response


def _list_choices(parser: ChartParser, chart: ChartQuery | None) -> list[Choice]:
    """List what can be chosen, with what the chart has."""
    chosen = dict(chart.pairs) if chart else {}
    measurable = list_options(parser.measurable)
    groupable = list_options(parser.groupable)
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
    return [Choice(name, label, options, chosen.get(name, "")) for name, label, options in choices]


def list_options(columns: Sequence[Column]) -> tuple[Option, ...]:
    """List fields as the options of a choice."""
    return tuple(Option(column.name, column.label, column.label_language) for column in columns)


# Files --------------------------------------------------------------------------------------------


#: Media type and content of a file.
File = tuple[str, str | bytes]


def list_drawing_files(svg: str) -> dict[str, Callable[[], File]]:
    """List the files of a drawing, by the parameter ``format``."""
    if not svg:
        return {}
    files: dict[str, Callable[[], File]] = {"svg": lambda: ("image/svg+xml", svg)}
    if can_draw_png(svg):
        files["png"] = lambda: ("image/png", draw_png(svg))
    return files


def build_file_response(
    name: str, extension: str, content_type: str, content: str | bytes
) -> HttpResponse:
    """Send a file to keep."""
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}.{extension}"'
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
            names = [series.label] if chart.split else []
            writer.writerow([key, *names, "" if point is None else point.digits])
    return lines.getvalue()
