"""A page with a table in a field, and more of them in its body."""

from django.db import models
from wagtail.admin.panels import FieldPanel
from wagtail.fields import StreamField
from wagtail.models import Page

from datastore_search.contrib.wagtail.chooser import ResourceChooserBlock


class SurveyPage(Page):
    table = models.ForeignKey("datastore_search.Resource", models.SET_NULL, null=True, blank=True)
    body = StreamField([("table", ResourceChooserBlock())], blank=True)

    content_panels = [*Page.content_panels, FieldPanel("table"), FieldPanel("body")]
