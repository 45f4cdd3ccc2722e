"""API tokens: issued, shown once, and deleted; only superusers see the tokens of others."""

from __future__ import annotations

from typing import Any

import knox.admin  # registers knox's page for tokens, which this one replaces
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import router
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy
from knox.crypto import hash_token
from knox.models import get_token_model

from ..web.tokens import issue_token

AuthToken = get_token_model()

admin.site.unregister(AuthToken)
knox.models.AuthToken._meta.app_config.verbose_name = gettext_lazy("Tokens")


@admin.register(AuthToken)
class TokenAdmin(admin.ModelAdmin):
    list_display = ("token_key", "user", "created", "expiry")
    list_select_related = ("user",)
    raw_id_fields = ("user",)  # for an admin in which users cannot be searched
    date_hierarchy = "created"
    search_fields = ("token_key",)

    class Media:
        css = {"all": ("datastore_search/admin.css",)}

    def get_autocomplete_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Complete user names, if the portal's admin of users has a search."""
        users = self.admin_site._registry.get(get_user_model())  # noqa: SLF001 - Django's own checks read it so
        return ("user",) if users and users.get_search_fields(request) else ()

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) and _can_manage(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: tokens are issued and revoked, never changed."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _can_manage(request, obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        tokens = super().get_queryset(request).using(router.db_for_write(AuthToken))
        return tokens if _is_superuser(request) else tokens.filter(user=request.user)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("user", "expiry") if _is_superuser(request) else ("expiry",)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        user_id = request.POST.get("user", str(request.user.pk))
        if user_id != str(request.user.pk) and not _is_superuser(request):
            raise PermissionDenied
        return super().add_view(request, form_url, extra_context)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        owner: Any = obj.user if _is_superuser(request) else request.user
        token = issue_token(owner, expires_at=form.cleaned_data["expiry"])
        issued = self.get_queryset(request).get(digest=hash_token(token))
        obj.__dict__.update(issued.__dict__)
        text = gettext("This is the token. Copy it now: it cannot be shown again.")
        shown = format_html('{} <code class="datastore-token">{}</code>', text, token)
        messages.warning(request, shown)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> Any:
        return self.response_post_save_add(request, obj)


def _is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))


def _can_manage(request: HttpRequest, token: Any) -> bool:
    """Return whether the user may see and revoke a token, or without one any token."""
    return token is None or token.user_id == request.user.pk or _is_superuser(request)
