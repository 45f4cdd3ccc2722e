"""System check of the template in which a portal puts the pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Tags, Warning, register
from django.template import Context, TemplateDoesNotExist, TemplateSyntaxError, engines
from django.template.backends.django import DjangoTemplates
from django.template.base import Template
from django.template.loader_tags import BlockNode, ExtendsNode

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
            found = set(_list_blocks(engine.engine.get_template(_BASE)))
        except (TemplateDoesNotExist, TemplateSyntaxError):
            continue  # another engine has it, or a request decides what it extends
        for name in _BLOCKS:
            if name not in found:
                text = f"The template {_BASE} has no block “{name}”, which pages fill."
                hint = f"Put {{% block {name} %}}{{% endblock %}} into it or what it extends."
                yield Warning(text, hint=hint, id="datastore_search.W016")


def _list_blocks(template: Template) -> Iterator[str]:
    """List the blocks of a template, and of those that it extends."""
    nodes: Any = template.nodelist
    for block in nodes.get_nodes_by_type(BlockNode):
        yield str(block.name)
    for node in nodes.get_nodes_by_type(ExtendsNode):
        context = Context()
        with context.bind_template(template):
            yield from _list_blocks(node.get_parent(context))
