"""
Requests by chance: any address of the app, any parameter, in any form.

Half of the values are plausible, so that a request is not always refused for its first mistake.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, quote_plus

from datastore_search.api.actions import actions
from datastore_search.contrib.agents.tools import get_tools
from datastore_search.downloads.parameters import DumpParameters

from .values import choose_text, choose_value

_LOCALES: Final = ("en", "vi", "en_GB", "ar", "xx", "..", "pt-br")
_METHODS: Final = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH")
_CONTENT_TYPES: Final = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "application/json; charset=utf-16",
    "application/xml",
)
_PAGES: Final = (
    "", "about/", "api/", "chart/", "compare/", "map/", "r/{}/", "schema.json", "datapackage.json",
)  # fmt: skip
_CATALOGUE_PAGES: Final = (
    "", "catalog.ttl", "catalog.jsonld", "sitemap.xml", "changes.atom", "outlines.svg", "sql/",
)  # fmt: skip
_PAGE_PARAMETERS: Final = (
    "q", "filters", "sort", "page", "size", "fields", "field.{}", "from.{}", "to.{}", "empty.{}",
    "not.{}", "contains.{}", "starts.{}", "show", "of", "by", "per", "split", "format", "embed",
    "lat", "lon", "geometry", "title", "highlight", "hide", "first", "compare", "from", "to", "as",
    "order", "unit", "note",
)  # fmt: skip
_HEADERS: Final = (
    "Accept", "Accept-Language", "Cookie", "If-None-Match", "If-Modified-Since", "Range", "Referer",
    "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-HTTP-Method-Override", "Origin",
    "X-CSRFToken", "X-CKAN-API-Key",
)  # fmt: skip

#: What a parameter usually has.
_PLAUSIBLE: Final[Mapping[str, Sequence[object]]] = {
    "limit": (0, 1, 100, "5"),
    "offset": (0, 1, 99),
    "rows": (0, 10),
    "start": (0, 5),
    "q": ("support", "", {"Section": "net"}),
    "filters": ({"Section": "net"}, {"Size": {"gte": 10}}, "{}"),
    "fields": ("Section", ["Section", "Size"]),
    "sort": ("Size desc", "_id"),
    "records_format": ("objects", "lists", "csv", "tsv"),
    "format": ("csv", "json", "xml", "tsv", "parquet", "xlsx", "ndjson", "geojson", "svg", "png"),
    "facets": ("Section", ["Section", {"field": "Size", "bins": 5}]),
    "group_by": ("Section", ["Section", "Priority"]),
    "metrics": ([{"metric": "sum", "field": "Size"}], "count"),
    "field": ("Section", "Size"),
    "prefix": ("n", ""),
    "method": ("upsert", "insert"),
    "records": ([{"a": 1}],),
    "name": ("hostile", "hostile-2"),
    "package_id": ("hostile", "hostile-2"),
    "tags": ([{"name": "river"}], "river,lake"),
    "extras": ([{"key": "k", "value": 1}],),
    "resources": ([{"name": "r", "url": "x.csv", "size": "1"}], []),
    "match": ({"name": "hostile", "resources": [{"name": "r"}]},),
    "update": ({"title": "T", "resources": [{"size": 2}]},),
    "state": ("active", "deleted"),
    "force": (True,),
    "by": ("Section", "Size"),
    "of": ("Size",),
    "show": ("count", "sum", "points"),
    "page": (1, 2, 10_000),
    "size": (25, 250),
    "compare": ("Section", "Priority"),
    "as": ("bars", "lines", "slope", "shares"),
    "order": ("-difference", "change", "group"),
    "sql": ("SELECT 1", "SELECT version(), 1 / 0", "SELECT repeat('x', 999999999)"),
}


@dataclass(frozen=True, slots=True)
class Targets:
    """The ids of a public table, of one that may be changed, and of a private one; a token."""

    public: str
    changeable: str
    private: str
    token: str


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """A request; its user may read private tables if it ``is_trusted``."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    is_trusted: bool

    @property
    def text(self) -> str:
        """Everything that an answer may repeat."""
        return f"{self.path} {dict(self.headers)} {self.body.decode(errors='replace')}"


def generate_requests(targets: Targets, seed: int) -> Iterator[HostileRequest]:
    """Generate requests without end."""
    chance = random.Random(seed)
    while True:
        yield _Generator(targets, chance).build()


class _Generator:
    def __init__(self, targets: Targets, chance: random.Random) -> None:
        self._targets, self._chance = targets, chance
        self._is_trusted = False

    def build(self) -> HostileRequest:
        chance = self._chance
        headers = self._choose_headers()
        prefix = f"/{chance.choice(_LOCALES)}/datastore/"
        kinds = ["action", "dump", "page", "catalogue", "agent"]
        (kind,) = chance.choices(kinds, [55, 15, 20, 5, 5])
        if kind == "action":
            return self._build_action(headers)
        if kind == "agent":
            return self._build_message(f"{prefix}mcp", headers)
        if kind == "dump":
            names = list(DumpParameters().get_fields())
            path = f"{prefix}dump/{self._choose_id()}"
            if self._happens(20):  # the file that a client has sent
                dataset = prefix.removesuffix("datastore/") + f"dataset/{self._segment()}"
                path = f"{dataset}/resource/{self._choose_id()}/download/{self._segment()}"
        elif kind == "page":
            page = chance.choice(_PAGES).format(self._segment())
            names = [name.format(self._choose_field()) for name in _PAGE_PARAMETERS]
            path = f"{prefix}{self._choose_id()}/{page}"
        else:
            names = ["q", "page", "next", "sql"]
            path = prefix + chance.choice(_CATALOGUE_PAGES).format(self._segment())
        sent = {name: self._choose(name) for name in chance.choices(names, k=chance.randrange(6))}
        return self._send(chance.choice(_METHODS[:1] * 9 + _METHODS), path, sent, headers)

    def _build_action(self, headers: dict[str, str]) -> HostileRequest:
        chance = self._chance
        action = chance.choice([*actions.values()])
        sent = {
            name: self._choose(name)
            for name in action.parameters().get_fields()
            if self._happens(35)
        }
        sent |= {self._text(): choose_value(chance)} if self._happens(5) else {}
        for name in ("resource_id", "id"):
            if name in action.parameters().get_fields() and self._happens(90):
                sent[name] = self._targets.changeable if action.is_writing else self._choose_id()
        if action.name.startswith(("package_", "dataset_")) and self._happens(50):
            sent["id"] = chance.choice(["hostile", "hostile-2"])
        elif action.name == "resource_delete":  # the table that the others change stays
            sent["id"] = self._segment()
        name = self._segment() if self._happens(2) else action.name
        root = chance.choice(["", f"/{chance.choice(_LOCALES)}"]) + chance.choice(["", "/3"]).join(
            ["/api", "/action/"]
        )
        method = "POST" if action.is_writing or self._happens(50) else "GET"
        method = chance.choice(_METHODS) if self._happens(5) else method
        return self._send(method, root + name, sent, headers)

    def _build_message(self, path: str, headers: dict[str, str]) -> HostileRequest:
        """Build a message of an agent, which mostly calls a tool."""
        chance = self._chance
        tool = chance.choice([*get_tools().values()])
        sent = {name: self._choose(name) for name in tool.names if self._happens(50)}
        if "resource_id" in tool.names and self._happens(90):
            sent["resource_id"] = self._choose_id()
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call" if self._happens(90) else self._text(),
            "params": {"name": tool.name, "arguments": sent},
        }
        if self._happens(10):
            message[chance.choice([*message])] = choose_value(chance)
        method = "POST" if self._happens(90) else chance.choice(_METHODS)
        accepted = {"Accept": "application/json, text/event-stream"}
        return self._send(method, path, message, accepted | headers)

    # Parts ----------------------------------------------------------------------------------------

    def _send(
        self, method: str, path: str, sent: Mapping[str, Any], headers: dict[str, str]
    ) -> HostileRequest:
        chance = self._chance
        if method in {"GET", "HEAD", "OPTIONS", "DELETE"}:
            query = _write_query(sent)
            return HostileRequest(
                method, f"{path}?{query}" if query else path, headers, b"", self._is_trusted
            )
        kind = _CONTENT_TYPES[0] if self._happens(70) else chance.choice(_CONTENT_TYPES)
        body = json.dumps(sent).encode()
        if "urlencoded" in kind:
            body = "&".join(
                f"{_quote(name)}={_quote(value)}" for name, value in sent.items()
            ).encode()
        if self._happens(10):  # damaged
            start = chance.randrange(len(body) + 1)
            body = body[:start] + chance.randbytes(chance.randrange(8)) + body[start + 3 :]
        return HostileRequest(
            method, path, {**headers, "Content-Type": kind}, body, self._is_trusted
        )

    def _choose(self, name: str) -> object:
        if name in _PLAUSIBLE and self._happens(50):
            return self._chance.choice(_PLAUSIBLE[name])
        return choose_value(self._chance)

    def _choose_id(self) -> str:
        """Choose a table to read."""
        known = [self._targets.public, self._targets.private, self._segment()]
        return self._chance.choices(known, [70, 20, 10])[0]

    def _choose_field(self) -> str:
        return self._chance.choice(["Section", "Size", self._text()])

    def _choose_headers(self) -> dict[str, str]:
        chance = self._chance
        headers = {}
        if self._happens(50):
            headers["Authorization"] = self._targets.token
            self._is_trusted = True
        elif self._happens(30):
            headers["Authorization"] = _clean_header(self._text())
        if self._happens(20):
            headers[chance.choice(_HEADERS)] = _clean_header(self._text())
        return headers

    def _text(self) -> str:
        return choose_text(self._chance)

    def _segment(self) -> str:
        """Choose a part of a path."""
        return quote(self._text().encode("utf-8", "surrogatepass"), safe="")

    def _happens(self, percent: int) -> bool:
        return self._chance.randrange(100) < percent


def _write_query(sent: Mapping[str, object]) -> str:
    return "&".join(f"{_quote(name)}={_quote(value)}" for name, value in sent.items())


def _quote(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return quote_plus(text.encode("utf-8", "surrogatepass")[:6_000])


def _clean_header(text: str) -> str:
    """Leave out what no header can have."""
    return "".join(letter for letter in text if " " <= letter <= "~")[:2_000]
