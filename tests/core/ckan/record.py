"""
Send all cases to a real CKAN, and record its answers.

    python -m tests.core.ckan.record --url URL --token-file FILE

The token is that of a sysadmin. Everything that is created there is deleted at the end.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .cases import CASES, Case, Request
from .exchange import (
    ANSWERS,
    Wire,
    build_wire_request,
    compute_fingerprint,
    select_compared_parts,
    store_made_id,
    write_json,
)
from .tables import TABLES, list_create_parameters


class Site:
    """A CKAN site with a dataset for the cases."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self.ids: dict[str, str] = {}

    def send(self, wire: Wire, *, anonymous: bool = False) -> tuple[int, str]:
        request = urllib.request.Request(
            self.url + wire.path, wire.body or None, method=wire.method
        )
        if wire.content_type:
            request.add_header("Content-Type", wire.content_type)
        if not anonymous:
            request.add_header("Authorization", self.token)
        try:
            with urllib.request.urlopen(request, timeout=100) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def call(self, action: str, **parameters: Any) -> Any:
        """Call an action that must succeed."""
        status, text = self.send(build_wire_request(Request(parameters, action), self.ids))
        if status != 200:
            sys.exit(f"{action}: {status} {text[:500]}")
        return json.loads(text)["result"]

    @contextmanager
    def make_dataset(self) -> Iterator[None]:
        name = f"replay-{secrets.token_hex(4)}"
        organization = self.call("organization_create", name=name)["id"]
        self.ids["dataset"] = self.call("package_create", name=name, owner_org=organization)["id"]
        try:
            yield
        finally:
            for resource in self.call("package_show", id=self.ids["dataset"])["resources"]:
                self.drop(resource["id"])
            self.call("dataset_purge", id=self.ids["dataset"])
            self.call("organization_purge", id=organization)

    def make_resource(self, name: str) -> str:
        """Make a resource without a table."""
        resource = self.call(
            "resource_create", package_id="@dataset", name=name, url="", url_type="datastore"
        )
        return str(resource["id"])

    def drop(self, resource: str) -> None:
        """Drop a resource's table, if it has one; its aliases go with it."""
        parameters = {"resource_id": resource, "force": True}
        self.send(build_wire_request(Request(parameters, "datastore_delete"), {}))

    def ask_case(self, case: Case) -> Iterator[dict[str, Any]]:
        """Send all requests of a case, then drop the table of its own resource."""
        for request in case.requests:
            status, text = self.send(
                build_wire_request(request, self.ids), anonymous=request.words == "anonymous"
            )
            store_made_id(request, text, self.ids)
            yield select_compared_parts(status, text, self.ids)
        if case.writes:
            self.drop(self.ids["own"])


def record_answers(site: Site) -> Iterator[dict[str, Any]]:
    with site.make_dataset():
        for name in ("own", *(table.name for table in TABLES)):
            site.ids[name] = site.make_resource(name)
        for table in TABLES:
            site.call("datastore_create", **table.creation)
        yield {
            "ckan": site.call("status_show")["ckan_version"],
            "tables": compute_fingerprint(list_create_parameters()),
        }
        for case in CASES:
            digest = compute_fingerprint(case.sent)
            yield {"case": case.name, "asked": digest, "answers": list(site.ask_case(case))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token-file", required=True, type=Path)
    arguments = parser.parse_args()
    site = Site(arguments.url, arguments.token_file.read_text().strip())
    lines = [write_json(line) for line in record_answers(site)]
    ANSWERS.write_text("\n".join(lines) + "\n")
    sys.stdout.write(f"{len(lines) - 1} cases\n")


if __name__ == "__main__":
    main()
