"""
Filters for texts of other languages and directions.

``{{ language|language_attributes }}``: the language of a text that is not the page's.
``{{ text|show_bidi_controls }}``: a text with the controls of its direction made visible.
"""

from django import template
from django.template.defaultfilters import stringfilter

from ..messages.texts import show_bidi_controls
from ..web.languages import write_attributes

register = template.Library()

register.filter("language_attributes", write_attributes)
register.filter("show_bidi_controls", stringfilter(show_bidi_controls), is_safe=True)
