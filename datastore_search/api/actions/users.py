"""
Users and their API tokens: everyone sees oneself, staff all users.

Source: CKAN's actions of these names, which show all users to everyone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import Http404
from django.utils.translation import gettext_lazy as _
from knox.crypto import hash_token
from knox.models import get_token_model
from rest_framework import serializers
from rest_framework.request import Request

from ...messages.access import AccessDenied
from ...models.object_permissions import has_permission
from ...web.tokens import issue_token
from ..authentication import build_write_refusal, get_reader
from ..parameters import (
    ActionParameters,
    BooleanField,
    IgnoredField,
    NonNegativeIntegerField,
    TextField,
)
from .action import Answer, build_action, write_time

#: Users or tokens of one answer, and tokens of a user.
MAX_LISTED = 1_000


class OtherUserDenied(AccessDenied):
    message = _("Access denied: user %(user)s may manage only own API tokens.")


# Users --------------------------------------------------------------------------------------------


def find_user(text: str) -> Any:
    """Find a user by name or id; None if there is none, or if the id is the name of another."""
    model = get_user_model()
    condition = Q(**{model.USERNAME_FIELD: text})
    with suppress(ValidationError):
        condition |= Q(pk=model._meta.pk.to_python(text))
    found = [*model._default_manager.filter(condition)[:2]]
    return found[0] if len(found) == 1 else None


def describe_user(user: Any, *, is_private: bool = False) -> dict[str, Any]:
    """Describe a user; the e-mail is ``is_private``."""
    name, full_name = user.get_username(), getattr(user, "get_full_name", str)()
    joined = getattr(user, "date_joined", None)
    email = {"email": getattr(user, user.get_email_field_name(), None), "apikey": None}
    return {
        "id": str(user.pk),
        "name": name,
        "fullname": full_name or None,
        "display_name": full_name or name,
        "created": write_time(joined),
        "about": None,
        "activity_streams_email_notifications": False,
        "image_display_url": None,
        "image_url": None,
        "state": "active" if user.is_active else "deleted",
        "sysadmin": bool(getattr(user, "is_superuser", False)),
        **(email if is_private else {}),
    }


def _describe_to(reader: Any, user: Any) -> dict[str, Any]:
    meta = get_user_model()._meta
    sees_all = has_permission(reader, f"{meta.app_label}.view_{meta.model_name}")
    return describe_user(user, is_private=sees_all or user.pk == reader.pk)


class UserShowParameters(ActionParameters):
    id = TextField(help_text=_("The name or the id of a user; oneself if not given."))
    # ckanapi's program and ckanr send all of these.
    include_datasets = IgnoredField(help_text=_("Has no effect."))
    include_num_followers = IgnoredField(help_text=_("Has no effect."))
    include_password_hash = IgnoredField(help_text=_("Has no effect."))
    include_users = IgnoredField(help_text=_("Has no effect."))


@build_action(UserShowParameters, _("Describe a user."))
def _user_show(request: Request, sent: Mapping[str, object]) -> Answer:
    name, reader = UserShowParameters.parse(sent).get("id"), get_reader(request)
    user = find_user(name) if name and reader.is_authenticated else reader
    if user is None or not reader.is_authenticated:
        raise Http404
    if user.pk != reader.pk and not getattr(reader, "is_staff", False):
        raise Http404
    return Answer(_describe_to(reader, user))


class UserListParameters(ActionParameters):
    q = TextField(help_text=_("A part of the name."))
    all_fields = BooleanField(
        help_text=_("Describe each one, instead of listing names."), shown_default="true"
    )
    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of results."), reduced_to=lambda: MAX_LISTED
    )


@build_action(UserListParameters, _("List the users that you may see."))
def _user_list(request: Request, sent: Mapping[str, object]) -> Answer:
    parsed, model = UserListParameters.parse(sent), get_user_model()
    reader: Any = get_reader(request)
    users = model._default_manager.filter(is_active=True)
    if not getattr(reader, "is_staff", False):
        users = users.filter(pk=reader.pk)
    users = users.filter(**{f"{model.USERNAME_FIELD}__icontains": parsed.get("q", "")})
    found = users.order_by(model.USERNAME_FIELD)[: min(parsed.get("limit", MAX_LISTED), MAX_LISTED)]
    if parsed.get("all_fields", True):
        return Answer([_describe_to(reader, user) for user in found])
    return Answer([user.get_username() for user in found])


# Tokens -------------------------------------------------------------------------------------------


class TokenListParameters(ActionParameters):
    needed = ("user_id", "user")

    user_id = TextField(help_text=_("Your name or id."))
    user = TextField(help_text=_("Another name for `user_id`."))


class TokenCreateParameters(ActionParameters):
    user = TextField(required=True, help_text=_("Your name or id."))
    name = TextField(required=True, help_text=_("Has no effect: tokens have no names."))


class TokenRevokeParameters(ActionParameters):
    needed = ("token", "jti")

    token = TextField(help_text=_("The token."))
    jti = TextField(help_text=_("The `id` of a token, in place of the token."))


def _get_oneself(request: Request, text: str) -> Any:
    """Get the user who asks, by the name or the id of oneself.  Raises: ``AccessDenied``."""
    reader = get_reader(request)
    if not reader.is_authenticated or text not in {reader.get_username(), str(reader.pk)}:
        raise build_write_refusal(request, OtherUserDenied)
    return reader


@build_action(TokenListParameters, _("List your API tokens."))
def _api_token_list(request: Request, sent: Mapping[str, object]) -> Answer:
    parsed = TokenListParameters.parse(sent)
    user = _get_oneself(request, parsed.get("user_id") or parsed["user"])
    tokens = get_token_model().objects.filter(user=user.pk).order_by("created")[:MAX_LISTED]
    return Answer([_describe_token(each) for each in tokens])


def _describe_token(token: Any) -> dict[str, Any]:
    """Describe a token by the beginning of its text, by which the admin shows it, too."""
    names = {"id": token.token_key, "name": token.token_key, "user_id": str(token.user_id)}
    return {**names, "created_at": write_time(token.created), "last_access": None}


@build_action(TokenCreateParameters, _("Issue an API token."), is_writing=True)
def _api_token_create(request: Request, sent: Mapping[str, object]) -> Answer:
    user = _get_oneself(request, TokenCreateParameters.parse(sent)["user"])
    tokens = get_token_model().objects
    if tokens.filter(user=user.pk).count() >= MAX_LISTED:
        message = _("A user has at most %(most)s API tokens.") % {"most": MAX_LISTED}
        raise serializers.ValidationError({"user": [message]})
    # Who has found a token that expires cannot keep it.
    used = tokens.filter(digest=hash_token(str(request.auth))).first()
    token = issue_token(user, expires_at=used and used.expiry)
    return Answer({"token": token, "id": tokens.get(digest=hash_token(token)).token_key})


@build_action(TokenRevokeParameters, _("Delete an API token."), is_writing=True)
def _api_token_revoke(request: Request, sent: Mapping[str, object]) -> Answer:
    parsed, reader = TokenRevokeParameters.parse(sent), get_reader(request)
    text = parsed.get("token")
    chosen = {"digest": hash_token(text)} if text else {"token_key": parsed["jti"]}
    tokens = get_token_model().objects.filter(user=reader.pk, **chosen)
    if not reader.is_authenticated or not tokens.delete()[0]:
        raise build_write_refusal(request, OtherUserDenied)
    return Answer(None)


user_actions = _user_show, _user_list, _api_token_list, _api_token_create, _api_token_revoke
