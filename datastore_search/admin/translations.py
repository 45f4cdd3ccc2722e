"""Texts of a resource in one more language: the links to the languages, the form and its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation.trans_real import get_languages

from ..models import MAX_LENGTHS, Field, Resource
from ..web.languages import choose_language_codes, find_direction, get_own_name
from .forms import VersionedForm, get_shown_rows, split_fields

_OF_FIELDS = ("label", "notes")


class TranslationForm(VersionedForm):
    def __init__(
        self, resource: Resource, fields: Sequence[Field], language: str, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.language = language
        self._attributes = {"lang": language, "dir": find_direction(language) or "ltr"}
        texts = resource.translations.get(language, {})
        self._add_input("title", gettext("title"), texts)
        self._add_input("description", gettext("description"), texts)
        self.rows = []
        for field in fields:
            texts = field.translations.get(language, {})
            label = gettext("Label of %(field)s") % {"field": field}
            notes = gettext("Notes of %(field)s") % {"field": field}
            label_input = self._add_input("label", label, texts, f"-{field.pk}")
            notes_input = self._add_input("notes", notes, texts, f"-{field.pk}")
            self.rows.append((field, label_input, notes_input))

    def _add_input(
        self, name: str, label: str, texts: Mapping[str, str], suffix: str = ""
    ) -> forms.BoundField:
        max_length = MAX_LENGTHS.get(name)
        attributes = {**self._attributes, "aria-label": label}
        self.fields[f"{name}{suffix}"] = forms.CharField(
            label=label,
            required=False,
            max_length=max_length,
            initial=texts.get(name, ""),
            widget=AdminTextInputWidget(attributes)
            if max_length
            else AdminTextareaWidget({**attributes, "rows": 2}),
        )
        return self[f"{name}{suffix}"]

    def update_texts(self, translated: Resource | Field, suffix: str, *names: str) -> bool:
        """
        Write the texts of a valid form into an object; return whether one has changed.

        A text that was not sent stays: a form that was shown before a load lacks new fields.
        """
        before = dict(translated.translations)
        sent = {name for name in names if f"{name}{suffix}" in self.data}
        texts = {
            **before.get(self.language, {}),
            **{name: self.cleaned_data[f"{name}{suffix}"] for name in sent},
        }
        texts = {name: text for name, text in texts.items() if text}
        others = {code: before[code] for code in before if code != self.language}
        translated.translations = {**others, self.language: texts} if texts else others
        return bool(before != translated.translations)


def handle_translation(
    request: HttpRequest, owner: ModelAdmin, resource: Resource, language: str
) -> HttpResponse:
    if language not in get_languages():
        raise Http404
    if request.method == "POST":  # another language may be saved at the same time
        resource = Resource.objects.select_for_update().get(pk=resource.pk)
    every = list(resource.fields.all())
    part = split_fields(request, len(every), len(_OF_FIELDS))
    fields = every[get_shown_rows(part)]
    form = TranslationForm(resource, fields, language, request.POST or None)
    if request.method == "POST" and form.is_valid():
        if form.update_texts(resource, "", "title", "description"):
            resource.save(update_fields=["translations", "modified_at"])
        changed = [each for each in fields if form.update_texts(each, f"-{each.pk}", *_OF_FIELDS)]
        Field.objects.bulk_update(changed, ["translations"], batch_size=500)
        owner.log_change(request, resource, [{"changed": {"fields": ["translations"]}}])
        text = gettext("The texts in %(language)s are saved.")
        messages.success(request, text % {"language": get_own_name(language)})
        if part.has_other_pages():  # there are more fields to translate
            return redirect(request.get_full_path())
        return redirect("admin:datastore_search_resource_change", resource.pk)
    context = {
        **owner.admin_site.each_context(request),
        "media": owner.media + form.media,
        "title": gettext("Texts in %(language)s") % {"language": get_own_name(language)},
        "subtitle": str(resource),
        "resource": resource,
        "form": form,
        "field_part": part,
    }
    return TemplateResponse(request, "datastore_search/admin/translation.html", context)


def link_translations(resource: Resource) -> SafeString:
    """Link the page of each language of the portal, with the number of texts that it has."""
    counts = Counter[str]()
    for each in (resource.translations, *resource.fields.values_list("translations", flat=True)):
        counts.update({language: len(texts) for language, texts in each.items()})
    shown = {
        language: ngettext("%(count)s text", "%(count)s texts", count) % {"count": count}
        for language, count in counts.items()
    }
    return format_html(
        '<ul class="datastore-languages">{}</ul>',
        format_html_join(
            "",
            '<li><a href="{}"><bdi lang="{}">{}</bdi>{}</a></li>',
            (
                (
                    reverse(
                        "admin:datastore_search_resource_translation", args=[resource.pk, language]
                    ),
                    language,
                    get_own_name(language),
                    f" ({shown[language]})" if language in shown else "",
                )
                for language in dict.fromkeys(
                    (*shown, *choose_language_codes(get_language() or ""))
                )
                if language in get_languages()
            ),
        ),
    )
