"""System checks of the template in which a portal puts the pages, and of the areas of maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError, router
from django.template import Context, TemplateDoesNotExist, TemplateSyntaxError, engines
from django.template.backends.django import DjangoTemplates
from django.template.base import Template, VariableNode
from django.template.loader_tags import BlockNode, ExtendsNode

from ...filters.places import GEOMETRIES, find_place_fields
from ...models import Field, Resource
from .conf import conf

_BASE = "datastore_search/base.html"

#: The blocks that pages fill.
_BLOCKS = ("title", "head", "content")


@register(Tags.templates)
def check_base_template(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> Iterator[CheckMessage]:
    """Require the blocks that pages fill in the portal's own base template."""
    for engine in engines.all():
        if not isinstance(engine, DjangoTemplates):
            continue
        try:
            found = _find_blocks(engine.engine.get_template(_BASE))
        except (TemplateDoesNotExist, TemplateSyntaxError):
            continue  # another engine has it, or a request decides what it extends
        for name in _BLOCKS:
            if name not in found:
                text = f"The template {_BASE} has no block “{name}”, which pages fill."
                hint = f"Put {{% block {name} %}}{{% endblock %}} into it, within a shown block."
                yield Warning(text, hint=hint, id="datastore_search.W016")


@register(Tags.database)
def check_areas(databases: Sequence[str] | None = None, **_options: Any) -> Iterator[CheckMessage]:
    """Require a field with GeoJSON of each resource that holds areas."""
    is_asked = router.db_for_read(Resource) in (databases or ())
    for name in conf.MAP_TILES.get("areas", "").split() if is_asked else ():
        with suppress(DatabaseError):  # before the first migration
            fields = Field.objects.filter(resource__in=Resource.objects.named(name))
            kinds = dict(fields.filter(type__in=GEOMETRIES).values_list("name", "type"))
            if not find_place_fields(kinds, {}):
                text = f"Maps have no areas of “{name}”, which is not a resource with GeoJSON."
                hint = "Load it with a field “geometry”, or correct DATASTORE_SEARCH_MAP_TILES."
                yield Warning(text, hint=hint, id="datastore_search.W027")


def _find_blocks(template: Template) -> dict[str, set[str]]:
    """Find the blocks that are shown, as those of a parent or within one, each with its own."""
    nodes: Any = template.nodelist
    shown: dict[str, set[str]] = {}
    extends = nodes.get_nodes_by_type(ExtendsNode)
    for node in extends:
        context = Context()
        with context.bind_template(template):
            shown = _find_blocks(node.get_parent(context))
    for block in nodes.get_nodes_by_type(BlockNode):
        if block.name in shown or not extends:
            values = block.nodelist.get_nodes_by_type(VariableNode)
            if not any("block.super" in value.filter_expression.token for value in values):
                shown = {name: shown[name] for name in shown.keys() - shown.get(block.name, ())}
            inner = {each.name for each in block.nodelist.get_nodes_by_type(BlockNode)}
            shown |= {block.name: inner} | {name: set() for name in inner}
    return shown
