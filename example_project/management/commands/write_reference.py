"""Write the tables of parameters into the reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from datastore_search.api.actions import actions
from datastore_search.api.dumping.parameters import DumpParameters
from datastore_search.api.parameters import ActionParameters

_REFERENCE = Path(settings.BASE_DIR) / "docs" / "reference"

#: What stands above a table, and the table.
_TABLE = re.compile(r"<!-- parameters of (?P<name>\w+) -->\n(?:\|.*\n)*")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

_PARAMETERS: Mapping[str, type[ActionParameters]] = {
    **{name: action.parameters for name, action in actions.items()},
    "dump": DumpParameters,
}


class Command(BaseCommand):
    """Takes the descriptions from the serializers."""

    help = "Write the tables of parameters into docs/reference."

    def handle(self, *args: Any, **options: Any) -> None:
        """Write each page that has such a table."""
        for page in sorted(_REFERENCE.glob("*.md")):
            page.write_text(write_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


def write_tables(page: str) -> str:
    """Write each table of parameters of a page anew, below the comment that names the action."""
    return _TABLE.sub(lambda found: _table(found["name"], _anchors(page)), page)


def _table(name: str, anchors: set[str]) -> str:
    rows = "".join(
        f"| {_linked(parameter, anchors)} | {field.help_text} |\n"
        for parameter, field in _PARAMETERS[name]().get_fields().items()
    )
    return f"<!-- parameters of {name} -->\n| Name | Meaning |\n|---|---|\n{rows}"


def _linked(parameter: str, anchors: set[str]) -> str:
    """Link a parameter to the section of the page that has its name."""
    anchor = next((each for each in anchors if each.replace("-", "_") == parameter), None)
    return f"[`{parameter}`](#{anchor})" if anchor else f"`{parameter}`"


def _anchors(page: str) -> set[str]:
    return {heading.strip("`").lower().replace(" ", "-") for heading in _HEADING.findall(page)}
