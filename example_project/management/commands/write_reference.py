"""Write the tables of parameters, settings and options of loads into the reference."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from django.core.management.base import BaseCommand

from datastore_search.api.actions import actions
from datastore_search.api.parameters import ActionParameters
from datastore_search.conf import find_settings
from datastore_search.contrib.files.management.commands.load_resource import (
    describe_option,
    name_argument,
)
from datastore_search.contrib.files.types.options import load_options
from datastore_search.downloads.parameters import DumpParameters
from example_project.database import BASE_DIR

_REFERENCE = BASE_DIR / "docs" / "reference"

#: The comment above a table, and the table.
_PARAMETERS_TABLE = re.compile(r"<!-- parameters of (?P<name>\w+) -->\n(?:\|.*\n)*")
_SETTINGS_TABLE = re.compile(r"<!-- settings of (?P<app>[\w.]+) -->\n(?:\|.*\n)*")
_OPTIONS_TABLE = re.compile(r"<!-- options of loads: (?P<group>.+) -->\n(?:\|.*\n)*")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

#: The text of parameters that are accepted for CKAN's clients, which share one row.
_NO_EFFECT = "Has no effect."

_PARAMETERS: Mapping[str, type[ActionParameters]] = {
    **{name: action.parameters for name, action in actions.items()},
    "dump": DumpParameters,
}


class Command(BaseCommand):
    """Takes the descriptions from the serializers, each ``conf``, and the options of loads."""

    help = "Write the tables of parameters, settings and options of loads into docs/reference."

    def handle(self, *args: Any, **options: Any) -> None:
        """Write each page that has such a table."""
        for page in sorted(_REFERENCE.glob("*.md")):
            page.write_text(write_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


def write_tables(page: str) -> str:
    """Replace the tables of a page, each below a comment that names it."""
    page = _SETTINGS_TABLE.sub(lambda found: _write_settings(found["app"]), page)
    page = _OPTIONS_TABLE.sub(lambda found: _write_options(found["group"]), page)
    return _PARAMETERS_TABLE.sub(lambda found: _write_parameters(found["name"], page), page)


def _write_settings(app: str) -> str:
    """Write the settings of an app, with their defaults as they are in the source."""
    source = inspect.getsource(import_module(f"{app}.conf"))
    defaults = [
        call.args[0]
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("Setting")
    ]
    rows = [
        f"| `{name}` | `{ast.get_source_segment(source, default)}` | {setting.text} |\n"
        for (name, setting), default in zip(find_settings(app).items(), defaults, strict=True)
    ]
    head = "| Setting | Default | Meaning |\n|---|---|---|\n"
    return f"<!-- settings of {app} -->\n{head}{''.join(rows)}"


def _write_options(group: str) -> str:
    """Write the options of loads that are about one thing, with links to the guide to loading."""
    rows = ""
    for name, option in load_options.items():
        if option.group == group:
            label, text = str(option.label), describe_option(option)
            if option.section:
                link = f"[{label}](../how-to/load-files.md#{option.section})"
                text = text.replace(label, link, 1)
            text = text.replace("|", r"\|")
            rows += f"| `{name_argument(name, option)}` | {text} |\n"
            rows += f"| `--no-{name}` | {option.emptied} |\n" if option.emptied else ""
    return f"<!-- options of loads: {group} -->\n| Option | Meaning |\n|---|---|\n{rows}"


def _write_parameters(name: str, page: str) -> str:
    anchors = {head.strip("`").lower().replace(" ", "-") for head in _HEADING.findall(page)}
    described = _PARAMETERS[name].describe().items()
    rows = "".join(
        f"| {_link_parameter(each, anchors)} | {text} |\n"
        for each, text in described
        if text != _NO_EFFECT
    )
    ignored = ", ".join(f"`{each}`" for each, text in described if text == _NO_EFFECT)
    rows += f"| {ignored} | {_NO_EFFECT} |\n" if ignored else ""
    return f"<!-- parameters of {name} -->\n| Name | Meaning |\n|---|---|\n{rows}"


def _link_parameter(parameter: str, anchors: set[str]) -> str:
    """Link a parameter to the section of the page that has its name."""
    anchor = next((each for each in anchors if each.replace("-", "_") == parameter), None)
    return f"[`{parameter}`](#{anchor})" if anchor else f"`{parameter}`"
