"""Saved views: questions of a resource's pages that its publisher has chosen."""

from __future__ import annotations

import uuid
from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from ...messages.texts import show_bidi_controls
from ...models import MAX_TITLE_LENGTH, Resource
from ...models.base import PrimaryModel
from .question import MAX_QUESTION_LENGTH

#: Of a resource: each is a tab of its pages.
MAX_VIEWS: Final = 30
MAX_DESCRIPTION_LENGTH: Final = 2_000


class SavedView(PrimaryModel):
    """
    A view of a resource, in the order of ``position``.

    ``view_type`` is CKAN's, ``query`` the end of the address of the page that shows it, and
    ``members`` are other ones that a client has sent, such as CKAN's options of the type.
    """

    resource_paths = ("resource_id",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    resource = models.ForeignKey(
        Resource, models.CASCADE, verbose_name=_("resource"), related_name="saved_views"
    )
    position = models.PositiveIntegerField(_("order"), default=0)
    title = models.CharField(_("title"), max_length=MAX_TITLE_LENGTH)
    description = models.TextField(_("description"), max_length=MAX_DESCRIPTION_LENGTH, blank=True)
    view_type = models.CharField(_("type"), max_length=100, default="datatables_view")
    query = models.CharField(
        _("question"),
        max_length=MAX_QUESTION_LENGTH,
        blank=True,
        help_text=_("The end of the address of a data page, after the question mark."),
    )
    members = models.JSONField(default=dict, editable=False)

    class Meta(PrimaryModel.Meta):
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        ordering = ("position", "id")

    def __str__(self) -> str:
        return show_bidi_controls(self.title)
