"""API tokens: issued here, shown once, deleted to revoke them."""

from __future__ import annotations

from typing import Any

import knox.admin  # noqa: F401 - registers knox's own page for tokens, which ours replaces
from django import forms
from django.contrib import admin, messages
from django.db import router
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from knox.crypto import hash_token
from knox.models import get_token_model

from ..tokens import issue_token

AuthToken = get_token_model()

admin.site.unregister(AuthToken)


class TokenForm(forms.ModelForm):
    """Whose the new token is, and until when."""

    class Meta:
        model = AuthToken
        fields = ("user", "expiry")


@admin.register(AuthToken)
class TokenAdmin(admin.ModelAdmin):
    """API tokens: issued here, shown once, deleted to revoke them."""

    form = TokenForm
    list_display = ("token_key", "user", "created", "expiry")
    list_select_related = ("user",)
    autocomplete_fields = ("user",)
    date_hierarchy = "created"
    search_fields = ("token_key",)

    class Media:
        css = {"all": ("datastore_search/admin.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """Read the tokens where they are issued."""
        return super().get_queryset(request).using(router.db_for_write(AuthToken))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tokens are issued and revoked, never changed."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Issue the token and show it."""
        token = issue_token(obj.user, until=form.cleaned_data["expiry"])
        issued = self.get_queryset(request).get(digest=hash_token(token))
        obj.__dict__.update(issued.__dict__)
        messages.warning(
            request,
            format_html(
                '{} <code class="datastore-token">{}</code>',
                gettext("This is the token. Copy it now: it cannot be shown again."),
                token,
            ),
        )

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> Any:
        """Go back to the list; that the token was issued has been said."""
        return self.response_post_save_add(request, obj)
