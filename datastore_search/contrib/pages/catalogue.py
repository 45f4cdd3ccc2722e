"""The catalogue page, and what the catalogue knows of a resource: facts, origin, how to cite it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import localdate, localtime
from django.utils.translation import gettext as _, gettext_lazy, ngettext, pgettext

from ...field_types import is_storable
from ...guards.shares import Client
from ...messages.requests import UnknownPage
from ...messages.texts import format_count, show_bidi_controls
from ...models import LocalText, Reader, Resource
from ...search import open_snapshot
from ...signals import CATALOGUE_KEY
from ...web.addresses import ResourceAddresses, reverse_in_locale
from ...web.views import parse_page_number
from ..catalogue.access import is_shown
from ..catalogue.contents import ContentSearch, FoundRecords
from ..catalogue.datasets import (
    CatalogueFilterSet,
    Datasets,
    FacetValue,
    count_facets,
    open_readable_datasets,
)
from ..catalogue.descriptions import (
    build_url,
    complete_metadata,
    describe_license,
    get_metadata_field,
)
from ..catalogue.models import get_metadata
from ..catalogue.published import (
    build_catalogue_links,
    describe_catalogue,
    describe_resource,
    find_address,
    get_site_description,
    get_site_title,
)
from ..catalogue.query import parse_catalogue_sort
from ..catalogue.uses import find_first_day
from .head import list_format_labels
from .page import PageView
from .sections import PageQuestion, Place, Section
from .table import paginate
from .values import compose_phrase, format_day, mark_text

#: What staff write in words, in the language of the resource.
_WORDS = frozenset({"source", "publisher", "contact", "tags", "spatial"})

_is_address = URLValidator(schemes=("https", "http"))


def find_dataset_id(resource: Resource, reader: Reader) -> str | None:
    """Find the id of the dataset of a resource that is shown to a user; None if it is not."""
    dataset_id = get_metadata(resource).part_of_id or str(resource.pk)
    return dataset_id if is_shown(resource, reader) else None


def _show_facts(question: PageQuestion) -> Mapping[str, Any] | None:
    """Show what is known of a resource, with the labels of the admin, languages and links."""
    resource = question.read.resource
    metadata = complete_metadata(resource)
    title, license_link, _is_open = describe_license(metadata.license)
    source_link = ""
    with suppress(ValidationError):
        _is_address(metadata.source)
        source_link = metadata.source
    mail = f"mailto:{metadata.contact_email}" if metadata.contact_email else ""
    texts = [
        ("license", title, license_link),
        ("source", metadata.source, source_link),
        ("publisher", metadata.publisher, ""),
        ("contact", metadata.contact or metadata.contact_email, mail),
        ("tags", pgettext("list", ", ").join(metadata.tags), ""),
    ]
    for name in ("temporal_start", "temporal_end", "spatial", "frequency", "version_date"):
        value = getattr(metadata, name)
        text = format_day(value) if isinstance(value, date) else value
        texts.append((name, text, ""))
    facts = [
        {
            "label": str(get_metadata_field(name).verbose_name),
            "text": show_bidi_controls(text),
            "link": link,
            "language": resource.content_language if name in _WORDS and not link else "",
        }
        for name, text, link in texts
        if text
    ]
    return {"facts": facts} if facts else None


def _show_origin(question: PageQuestion) -> Mapping[str, Any] | None:
    metadata = complete_metadata(question.read.resource)
    title, address, _is_open = describe_license(metadata.license)
    return {
        "publisher": show_bidi_controls(metadata.publisher),
        "license": title,
        "address": address,
        "language": question.read.resource.content_language,
    }


def _describe(question: PageQuestion) -> Mapping[str, Any] | None:
    """Describe a public resource at its address without parameters, the one for engines."""
    resource, request = question.read.resource, question.request
    is_shown = not (resource.private or request.GET)
    return {"data": describe_resource(request, resource)} if is_shown else None


# A resource as a source ---------------------------------------------------------------------------

#: The escapes of BibTeX; what stands for a letter in TeX becomes a command.
_TEX = str.maketrans(
    {each: f"\\{each}" for each in "{}$&#%_"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
)


def find_publisher(resource: Resource) -> tuple[str, str]:
    """Find who publishes a resource, with the language: the portal if nobody is stated."""
    publisher = complete_metadata(resource).publisher
    language = resource.content_language if publisher else ""
    return show_bidi_controls(publisher or get_site_title()), language


def _cite(question: PageQuestion) -> Mapping[str, Any]:
    """Cite the present version: in a sentence, in BibTeX and in CSL-JSON."""
    resource, request = question.read.resource, question.request
    publisher, language = find_publisher(resource)
    # A version is the time of the change in microseconds.
    moment = datetime.fromtimestamp(resource.version // 1_000_000, UTC)
    title, version, day = str(resource), f"{moment:%Y-%m-%dT%H:%M:%SZ}", localdate(moment)
    address = request.build_absolute_uri(reverse_in_locale(request, "resource", resource.pk))
    sentence = compose_phrase(
        _("%(publisher)s: %(title)s. Version %(version)s, %(date)s. %(address)s"),
        publisher=mark_text(publisher, language),
        title=mark_text(title, resource.local_title.language),
        date=format_day(day),
        version=mark_text(version),
        address=mark_text(address),
    )
    dates = {"year": day.year, "month": day.month, "day": day.day}
    known = {"title": title, "author": publisher, "publisher": publisher, "version": version}
    members = known | {name: f"{number}" for name, number in dates.items()}
    lines = [f"  {name} = {{{{{text.translate(_TEX)}}}}}," for name, text in members.items()]
    bibtex = "\n".join([f"@misc{{{resource.pk},", *lines, f"  url = {{{address}}}", "}"])
    csl: dict[str, Any] = {"id": str(resource.pk), "type": "dataset", **known, "URL": address}
    csl |= {"author": [{"literal": publisher}], "issued": {"date-parts": [[*dates.values()]]}}
    csl_json = json.dumps([csl], ensure_ascii=False, indent=2)
    return {"sentence": sentence.html, "formats": [("BibTeX", bibtex), ("CSL-JSON", csl_json)]}


def _list_unstated(question: PageQuestion) -> Mapping[str, Any] | None:
    known = complete_metadata(question.read.resource)
    texts = {
        _("No licence is stated"): known.license,
        _("No contact is stated"): known.contact or known.contact_email,
        _("No date is stated"): known.version_date or known.temporal_start or known.temporal_end,
    }
    missing = [text for text, stated in texts.items() if not stated]
    return {"missing": missing} if missing else None


SECTIONS = (
    Section("facts", Place.ABOUT, "datastore_search/_facts.html", _show_facts),
    Section("origin", Place.LINE, "datastore_search/_origin.html", _show_origin),
    Section("structured_data", Place.HEAD, "datastore_search/_structured_data.html", _describe),
    Section("unstated", Place.ABOUT, "datastore_search/_unstated.html", _list_unstated),
    Section("cite", Place.ABOUT, "datastore_search/_cite.html", _cite),
)


# The page of the catalogue ------------------------------------------------------------------------

ENTRIES_PER_PAGE = 20

#: Publishers and topics that are offered, the most frequent ones.
MAX_OPTIONS = 50

#: Datasets, topics and publishers to which the first page leads.
MAX_WAYS = 8

#: The values of ``sort``, and their words.
_ORDERS = {"": gettext_lazy("title"), "modified": gettext_lazy("last change")}


class CatalogueView(PageView):
    """The datasets that the user may see; the time limit of a search applies."""

    def get(self, request: HttpRequest) -> HttpResponse:
        with open_snapshot(Client.from_request(request)) as session, session.watch_statements():
            readable = open_readable_datasets(session.connection.alias, request.user)
            sent = {name: request.GET.get(name, "") for name in ("publisher", "topic", "sort")}
            chosen = {name: text[:200] if is_storable(text) else "" for name, text in sent.items()}
            datasets = readable.owned_by(chosen["publisher"]) if chosen["publisher"] else readable
            datasets = datasets.tagged(chosen["topic"]) if chosen["topic"] else datasets
            contents, is_searched = ContentSearch(session, request.GET.get("q", "")), True

            def find(_text: str) -> Q:
                nonlocal is_searched
                resources, is_searched = contents.find(datasets.resources)
                return datasets.match_resources(resources)

            filters = CatalogueFilterSet(request.GET, datasets.rows, datasets.match_word, find)
            if not filters.is_valid():
                return self.render_page(
                    "catalogue.html",
                    {"filters": filters},
                    private=True,
                    status=HTTPStatus.BAD_REQUEST,
                )
            number, q = parse_page_number(request), filters.form.cleaned_data["q"]
            offset = (number - 1) * ENTRIES_PER_PAGE
            order = parse_catalogue_sort("" if chosen["sort"] == "modified" else "title")
            bounds = slice(offset, offset + ENTRIES_PER_PAGE)
            listed, total = datasets.read_page(order, bounds, filters.qs)
            if offset >= max(total, 1):
                raise UnknownPage(page=number)
            asked = {"q": q, **chosen}
            self.shared_parameters = [pair for pair in asked.items() if pair[1]]
            # Each has a parameter, its label, its options, and the chosen one.
            choices: list[tuple[str, str, list[tuple[str, Any]], str]] = []
            names = (("publisher", _("Publisher")), ("topic", _("Topic")))
            facets = count_facets(readable, request.user, ("organization", "tags"), MAX_OPTIONS)
            for (name, label), counted in zip(names, facets, strict=True):
                options = {
                    each.name: f"{each.title} ({format_count(each.count)})" for each in counted
                }
                if chosen[name]:
                    options.setdefault(chosen[name], chosen[name])
                if len(options) > 1 or chosen[name]:
                    choices.append((name, label, [("", _("all")), *options.items()], chosen[name]))
            choices.append(("sort", _("Sort by"), [*_ORDERS.items()], chosen["sort"]))
            tables = [table for each in listed for table in each.resources]
            found = contents.count(tables) if q else {}
            context: dict[str, Any] = {
                "entries": [
                    (each, [self._describe_table(table, q, found) for table in each.resources])
                    for each in listed
                ],
                "filters": filters,
                "is_searched": is_searched,
                "is_asked": q or chosen["publisher"] or chosen["topic"],
                "formats": pgettext("list", ", ").join(list_format_labels()),
                "choices": choices,
                "pagination": paginate(
                    request,
                    self.shared_parameters,
                    number,
                    ENTRIES_PER_PAGE,
                    total,
                    is_exact=datasets.is_complete,
                ),
            }
            # Of all addresses of the catalogue, and of a table, one is for search engines.
            if not request.GET:
                context["structured_data"] = describe_catalogue(request)
                context["portal"] = (get_site_title(), get_site_description())
                context["ways"] = self._list_ways(readable, total, *facets)
            # The total depends on the user, on every page, and on the tables that were searched.
            private = request.user.is_authenticated or not is_searched
            response = self.render_page(
                "catalogue.html", context, private=private, key=CATALOGUE_KEY
            )
            if link := build_catalogue_links(request):
                response["Link"] = link
            return response

    def _list_ways(
        self,
        datasets: Datasets,
        total: int,
        publishers: Sequence[FacetValue],
        topics: Sequence[FacetValue],
    ) -> list[tuple[str, list[tuple[str, LocalText, str]]]]:
        """List ways into the catalogue: of each link, the address, its text and what follows."""
        bounds, newest = slice(0, MAX_WAYS), parse_catalogue_sort("")
        changed = []
        for each in datasets.list_page(newest, bounds) if total > MAX_WAYS else ():
            dataset, moment = each.dataset, each.modified_at
            day = format_day(localtime(moment.astimezone(UTC))) if moment else ""
            address = f"?{urlencode({'q': dataset.pk})}"
            if dataset.resource:
                address = reverse_in_locale(self.request, "resource", dataset.resource.pk)
            changed.append((address, dataset.local_title, day))
        used = []
        for resource, number in datasets.list_used(MAX_WAYS) if total > MAX_WAYS else ():
            requests = ngettext("%(number)s request", "%(number)s requests", number)
            address = reverse_in_locale(self.request, "resource", resource.pk)
            note = requests % {"number": format_count(number)}
            used.append((address, resource.local_title, note))
        since = _("Most used since %(date)s") % {"date": format_day(find_first_day())}
        ways = [(_("Latest changes"), changed), (since, used)]
        for title, name, found in (
            (_("Topics"), "topic", topics),
            (_("Publishers"), "publisher", publishers),
        ):
            links = [
                (
                    f"?{urlencode({name: each.name})}",
                    LocalText(each.title, ""),  # in whatever language
                    format_count(each.count),
                )
                for each in found[bounds]
            ]
            ways.append((title, links))
        return [way for way in ways if len(way[1]) > 1]

    def _describe_table(
        self, resource: Resource, q: str, found: Mapping[UUID, FoundRecords]
    ) -> dict[str, Any]:
        version, fields = resource.table_version, cast("Any", resource).field_count
        if version is None:  # published without a table
            address = find_address(build_url(resource, ResourceAddresses(self.request)))
            members = get_metadata(resource).members or {}
            return {"resource": resource, "address": address, "format": members.get("format") or ""}
        records = version.record_count
        loaded = version.published_at and localtime(version.published_at.astimezone(UTC))
        address, matching = reverse_in_locale(self.request, "resource", resource.pk), ""
        if number := found.get(resource.pk):
            matching = ngettext(
                "%(number)s record matches", "%(number)s records match", number.total
            ) % {"number": format_count(number.total)}
            matching = matching if number.is_exact else f"≥ {matching}"
        return {
            "resource": resource,
            "is_table": True,
            "address": address,
            "matching": matching,
            "matching_address": f"{address}?{urlencode({'q': q})}",
            "loaded_at": loaded.date().isoformat() if loaded else "",
            "loaded": _("Loaded on %(date)s") % {"date": format_day(loaded)} if loaded else "",
            "facts": (  # faster than the template
                ngettext("%(number)s record", "%(number)s records", records)
                % {"number": format_count(records)},
                ngettext("%(number)s field", "%(number)s fields", fields)
                % {"number": format_count(fields)},
            ),
        }
