"""``{{ language|language_attributes }}``: the language of a text that is not the page's."""

from __future__ import annotations

from django import template

from ..html.languages import write_attributes

register = template.Library()

register.filter("language_attributes", write_attributes)
