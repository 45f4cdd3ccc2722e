"""What charts and maps of a question have in common: their content, their pages, their files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from functools import cached_property
from http import HTTPStatus
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from django.apps import apps
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import get_language, gettext as _

from ...api.parameters import ChoiceField
from ...conf import conf
from ...downloads.xml_rows import clean_xml
from ...guards.cache import BoundedCache
from ...messages.parameters import InvalidParameter, InvalidParameters
from ...search import ConsistentRead, Query
from ...web.caching import set_cache_headers
from ...web.views import VARY
from .charts.png import can_draw_png, draw_png
from .charts.query import ChartQuery
from .columns import Column, narrow_profiles, profile_columns
from .head import build_chips, describe_head
from .maps.places import MapQuery
from .page import ResourcePageView
from .question import OF_TABLE, PageQuery, Pair, QueryString, describe_parameter_errors
from .sections import PageQuestion, Place, build_sections
from .values import Phrase, format_day

if apps.is_installed("datastore_search.contrib.catalogue"):
    from .catalogue import find_publisher

#: Media type and content of a file.
File = tuple[str, str | bytes]

#: Files of drawings, by the version of their resource and what was asked.
_files: BoundedCache[Hashable, File] = BoundedCache(
    "drawings", 200, max_size=16 * 2**20, max_value_size=2**21, measure=lambda file: len(file[1])
)


class Option(NamedTuple):
    """What can be chosen: the value, the label, and the language of the label."""

    value: str
    label: str
    language: str = ""


def list_options(columns: Sequence[Column]) -> tuple[Option, ...]:
    return tuple(Option(column.name, column.label, column.label_language) for column in columns)


Shown = TypeVar("Shown", bound=ChartQuery | MapQuery)
Data = TypeVar("Data")


class QuestionDrawing(ABC, Generic[Shown, Data]):
    """
    The chart or the map of a question, for its page, a frame, or a portal's own template.

    ``shown`` is None where no field suits, ``data`` also where there are ``errors``.
    """

    name: ClassVar[str]
    #: Reads what is shown from parameters, or proposes it.
    parser_class: ClassVar[type[Any]]
    #: The files that it may have, by the parameter ``format``.
    formats: ClassVar[tuple[str, ...]]
    #: A file that its script reads, and that its page does not offer.
    script_file: ClassVar[str] = ""

    def __init__(
        self,
        read: ConsistentRead,
        query: PageQuery,
        columns: Sequence[Column],
        parameters: Mapping[str, str],
        page_path: str | None,
    ) -> None:
        """
        Read the drawing of a question that the ``parameters`` of its address choose.

        Links lead to pages below ``page_path``, the path of the data page; None means no links.
        """
        self.resource, self.page_path, self.sent = read.resource, page_path, parameters
        self.client = read.session.client
        self.question = query.query_string.remove(*OF_TABLE)
        self.filters, self.errors = query.filters, query.all_errors
        if parameters.get("format", "") not in {"", *self.formats, self.script_file}:
            self.refuse_format(self.formats)
        self.address = ""  # that a file names
        self.shown: Shown | None = None
        self.data: Data | None = None
        self.profiles = profile_columns(read, query, columns, parameters.values())
        narrowed = narrow_profiles(self.profiles or {}, query.search.filters)
        self.parser = self.parser_class(columns, narrowed)
        try:
            self.shown = self.parser.parse(parameters)
            if self.shown and not self.errors:
                self.data = self.read(read, replace(query.search, sort=()), self.shown)
        except (InvalidParameter, InvalidParameters) as error:
            self.errors += describe_parameter_errors(error)

    def refuse_format(self, formats: Iterable[str]) -> None:
        message = str(ChoiceField.default_error_messages["choice"])
        self.errors.append(f"format: {message.format(choices=', '.join(formats))}")

    @abstractmethod
    def read(self, read: ConsistentRead, query: Query, shown: Shown) -> Data | None:
        """Read the data of what is shown; None if there are none."""

    @property
    @abstractmethod
    def title(self) -> Phrase:
        """The title."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Describe it for its templates."""

    @abstractmethod
    def describe_page(self, address: QueryString) -> dict[str, Any]:
        """
        Describe what its own page has in addition, with the ``choices`` of its form.

        A choice has a name, a label, its options, and the chosen value.
        """

    @abstractmethod
    def build_drawing(self, *, is_file: bool) -> object | None:
        """Build what the template of the drawing takes; None if there is nothing to draw."""

    def draw(self, *, is_file: bool) -> SafeString:
        """Draw it as SVG, for a page or as a file, which stands alone; empty for nothing."""
        context = {
            "drawing": self.build_drawing(is_file=is_file),
            "is_file": is_file,
            "has_links": self.page_path is not None and not is_file,
            "language": get_language(),
        }
        if context["drawing"] is None:
            return SafeString()
        name = getattr(context["drawing"], "name", self.name)
        return SafeString(clean_xml(render_to_string(f"datastore_search/{name}.svg", context)))

    def describe_source(self) -> list[str]:
        """Say below a file, line by line, where its figures are from and when they changed."""
        portal = conf.SITE_TITLE or _("Datastore")
        if apps.is_installed("datastore_search.contrib.catalogue"):
            portal, _language = find_publisher(self.resource)
        names = {"resource": str(self.resource), "portal": portal}
        source = _("Source: %(resource)s, %(portal)s") % names
        day = format_day(localtime(self.resource.modified_at.astimezone(UTC)))
        return [source, _("Last changed on %(date)s") % {"date": day}, self.address]

    @cached_property
    def drawing(self) -> SafeString:
        return self.draw(is_file=False)

    def list_files(self) -> dict[str, Callable[[], File]]:
        """List its files, by the parameter ``format``: the drawing, also as PNG if that can be."""
        files: dict[str, Callable[[], File]] = {}
        if self.drawing:
            files["svg"] = lambda: ("image/svg+xml", self.draw(is_file=True))
            if can_draw_png(self.drawing):
                files["png"] = lambda: ("image/png", draw_png(self.draw(is_file=True), self.client))
        return files

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return self.shown.pairs if self.shown else ()


class DrawingView(ResourcePageView):
    can_be_embedded = True
    drawing_class: ClassVar[type[QuestionDrawing[Any, Any]]]

    def build_context(self, question: PageQuestion) -> dict[str, Any] | HttpResponse:
        """Show the drawing, or send it as a file, which is kept; both are made within a slot."""
        read, query, columns = question.read, question.query, question.columns
        name = self.request.GET.get("format", "")
        sent = tuple((key, *values) for key, values in self.request.GET.lists())
        address = self.request.build_absolute_uri(self.request.path)
        versions = (read.version_key, *self.area_versions)
        key = (versions, self.drawing_class.name, get_language(), address, sent)
        file = _files.get(key)
        if file is None:
            self.held.enter_context(read.session.hold_slot())
            drawing = self.drawing_class(read, query, columns, self.request.GET, "../")
            asked = QueryString((*drawing.question.pairs, *drawing.pairs))
            drawing.address = f"{address}{asked.query}"
            # What is proposed goes with the question, what was sent stays.
            own = [pair for pair in drawing.pairs if pair[0] in self.request.GET]
            self.shared_parameters = [*self.shared_parameters, *own]
            files = drawing.list_files()
            file = files[name]() if name in files else None
            if name and file is None and not drawing.errors:
                if drawing.drawing:  # but not as PNG
                    drawing.refuse_format(each for each in drawing.formats if each in files)
                else:
                    drawing.errors.append(_("There is nothing to draw."))
            if file is not None and read.version_key and drawing.profiles is not None:
                _files.add(key, file)
        if file is not None:
            content_type, content = file
            response = HttpResponse(content, content_type=content_type)
            response["Content-Disposition"] = (
                f'attachment; filename="{self.drawing_class.name}.{name}"'
            )
            response["X-Content-Type-Options"] = "nosniff"
            set_cache_headers(self.request, response, private=self.is_private, vary=VARY)
            return response
        search = replace(query.search, sort=())
        kept = QueryString((*drawing.question.pairs, *own))
        shown = replace(query, query_string=kept, search=search, fields=(), hidden=())
        context: dict[str, Any] = {
            "chips": build_chips(shown, columns),
            "whole_address": asked.link,
            "is_complete": drawing.profiles is not None,
            **drawing.describe(),
        }
        if not self.is_embedded:
            question = replace(question, query=shown, profiles=drawing.profiles)
            places = () if query.all_errors else (Place.BESIDE,)
            sections = build_sections(question, *places)
            context |= {
                **describe_head(question, drawing.name),
                "sections": sections,
                "hidden": drawing.question.pairs,
                "files": [
                    (name.upper(), asked.replace("format", name).link)
                    for name in files
                    if name != drawing.script_file
                ],
                **drawing.describe_page(asked),
            }
            if drawing.data:
                context |= self.describe_embedding(asked.pairs, drawing.title.text)
        if drawing.errors:
            self.status = HTTPStatus.BAD_REQUEST
        return context
