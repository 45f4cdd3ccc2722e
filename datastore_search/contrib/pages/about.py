"""The page *About*: all that is known of a resource and of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...models import read_profiles
from ...search import ConsistentRead
from .head import describe_head
from .markdown import render_markdown
from .page import ResourcePageView
from .sections import PageQuestion, Place, build_sections
from .table.columns import Column, choose_columns
from .table.page_query import PageQuery
from .table.profiles import describe_fields


class AboutView(ResourcePageView):
    """The description, the facts, and the statistics of the columns of the table."""

    template = "about.html"

    def build_context(
        self, read: ConsistentRead, query: PageQuery, columns: Sequence[Column]
    ) -> dict[str, Any]:
        """Describe the resource, whatever is asked of its records."""
        resource = read.resource
        profiles = read_profiles(resource.table_version_id, using=read.connection.alias)
        choice = choose_columns(columns, query)
        question = PageQuestion(self.request, read, query, columns, choice, profiles)
        return {
            **describe_head(question, "about"),
            "description": render_markdown(resource.local_description.text, 20_000),
            "sections": build_sections(question, Place.ABOUT),
            "notes": describe_fields(choice.columns, profiles),
            "has_figures": profiles is not None,
        }
