"""Stand-ins for the modules of CKAN that its tests import: actions go over HTTP to our server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from functools import partial, partialmethod
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import requests
from django.contrib.auth.backends import BaseBackend
from django.db.models import Model

from datastore_search.contrib.catalogue.models import get_metadata
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ...builders import make_user

_TESTS = "ckanext.datastore.tests"

#: A checkout of CKAN.
SOURCE = os.environ.get("CKAN_SOURCE")
FOLDER = Path(SOURCE or "", *_TESTS.split("."))

#: What CKAN's tests import, beside Python and pytest.
_PACKAGES = {"ckan", "ckanext", "faker", "sqlalchemy"}

_numbers = count(1)


class RefusalError(Exception):  # also of a call of what is not a part of the API
    kind = ""

    def __init__(self, error_dict: object) -> None:
        super().__init__(error_dict)
        self.error_dict = error_dict


class NotAuthorizedError(RefusalError):
    kind = "Authorization Error"


class NotFoundError(RefusalError):
    kind = "Not Found Error"


class ValidationError(RefusalError):
    kind = "Validation Error"


class StandIn(ModuleType):
    """A module of CKAN, or a part without an entry below: tests may import it, but not call it."""

    is_call_refused: ClassVar[bool] = False

    def __init__(self, name: str, *_class: object) -> None:
        super().__init__(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        full_name = f"{self.__name__}.{name}"
        return STAND_INS[full_name] if full_name in STAND_INS else StandIn(full_name)

    def __call__(self, *_arguments: object, **_options: object) -> StandIn:
        if StandIn.is_call_refused:
            raise RefusalError(self.__name__)
        return self


class Finder(MetaPathFinder, Loader):
    """Finds a stand-in for each module but those of the tests."""

    def find_spec(self, fullname: str, *_where: object) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in _PACKAGES or fullname.startswith(f"{_TESTS}."):
            return None
        spec = ModuleSpec(fullname, self)
        spec.submodule_search_locations = [str(FOLDER)] if fullname == _TESTS else []
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it was created."""

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_error: object) -> None:
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if name.partition(".")[0] in _PACKAGES]:
            del sys.modules[name]


class Portal:
    """The server, with its users: in CKAN's tests their names are their ids."""

    def open(self, url: str) -> None:
        self.url = url
        self._users: dict[str, Any] = {}
        self.capacities: dict[tuple[str, str | None], str] = {}  # by user and dataset
        self._administrator = self.create_user(is_superuser=True)["name"]

    def create_user(self, **values: Any) -> dict[str, str]:
        name = f"user-{next(_numbers)}"
        self._users[name] = make_user(name, **values)
        return {"id": name, "name": name}

    def create_token(self, user: str) -> dict[str, str]:
        return {"token": issue_token(self._users[user])}

    def request(self, method: str, url: str, status: int | None = None, **sent: Any) -> Any:
        answer: Any = requests.request(method, self.url + url, timeout=60, **sent)
        assert status in {None, answer.status_code}, answer.text
        answer.data, answer.get_data = answer.content, lambda **_as_text: answer.text
        return answer

    get = partialmethod(request, "GET")
    post = partialmethod(request, "POST")

    def call(self, action: str, sent: Mapping[str, Any], user: str | None = None) -> Any:
        """Call an action as a user ("" is anonymous), or as the administrator."""
        name = self._administrator if user is None else user
        headers = {"Authorization": self.create_token(name)["token"]} if name else {}
        answer = self.post(f"/api/3/action/{action}", json=sent, headers=headers).json()
        if answer["success"]:
            return answer["result"]
        kinds = {each.kind: each for each in RefusalError.__subclasses__()}
        raise kinds.get(answer["error"].pop("__type"), RefusalError)(answer["error"])


portal = Portal()


class Rights(BaseBackend):
    """All users may change what is public, as in CKAN's tests; others depend on the dataset."""

    def has_perm(self, user_obj: Any, perm: str, obj: Model | None = None) -> bool:
        if not user_obj.is_authenticated or not isinstance(obj, Resource):
            return user_obj.is_authenticated and perm == "datastore_search.add_resource"
        capacity = portal.capacities.get((user_obj.username, get_metadata(obj).part_of_id))
        is_viewing = perm == "datastore_search.view_resource"
        return not obj.private or capacity == "editor" or (capacity == "member" and is_viewing)


def call_action(action: str, context: Mapping[str, Any] | None = None, **sent: Any) -> Any:
    """Call an action; that for collaborators is done here, as a portal would."""
    if action == "package_collaborator_create":
        portal.capacities[sent["user_id"], sent["id"]] = sent["capacity"]
        return sent
    is_user = context is not None and not context.get("ignore_auth", True)
    return portal.call(action, sent, context["user"] if context and is_user else None)


def call_auth(action: str, context: Mapping[str, Any], **sent: Any) -> bool:
    """Call an action for its rights alone: any other refusal counts as permission."""
    for name in context.get("table_names") or [sent["resource_id"]]:
        call_action("datastore_create", resource_id=name, force=True)  # one without a table is 404
    with suppress(NotFoundError, ValidationError):
        portal.call(action, sent, context["user"])
    return True


def get_action(name: str) -> Any:
    try:
        portal.call("help_show", {"name": name})
    except NotFoundError:
        raise KeyError(f"Action '{name}' not found") from None
    return lambda context, sent: call_action(name, context, **sent)


def execute(text: str) -> list[SimpleNamespace]:
    """Ask a statement for CKAN's database by the action that takes SQL."""
    found = call_action("datastore_search_sql", sql=text.strip().removesuffix(";"))
    return [SimpleNamespace(**record) for record in found["records"]]


def create_organization(user: Any = None, users: Iterable[Any] = ()) -> Any:
    made = call_action("organization_create", name=f"organization-{next(_numbers)}")
    for each in [*users, {**user, "capacity": "admin"}] if user else users:
        member = {"id": made["id"], "username": each["name"], "role": each["capacity"]}
        portal.call("organization_member_create", member)
    return made


def create_dataset(creator_user_id: str = "", **values: Any) -> Any:
    return call_action("package_create", **{"name": f"dataset-{next(_numbers)}", **values})


def create_resource(package_id: str = "", creator_user_id: str = "", **values: Any) -> Any:
    values["package_id"] = package_id or create_dataset()["id"]
    values |= {"name": f"resource-{next(_numbers)}", "url": "https://portal.example/table"}
    return call_action("resource_create", **values)


class Row(SimpleNamespace):
    """A row of CKAN's database, with what its action shows now."""

    @property
    def extras(self) -> Any:
        try:
            return call_action("resource_show", id=self.id)
        except NotFoundError:
            return {"datastore_active": False}

    @classmethod
    def get_package(cls, name: str) -> Row:
        shown = call_action("package_show", id=name)
        parts = {
            key: [cls(id=part["id"]) for part in shown[key]] for key in ("groups", "resources")
        }
        return cls(id=shown["id"], get_groups=lambda: parts["groups"], **parts)


_BOOKS: dict[str, Any] = {
    "name": "annakarenina",
    "groups": [{"name": "roger"}],
    "resources": [{"name": "Full text"}, {"name": "Index"}],
}
_SESSION = SimpleNamespace(connection=lambda: SimpleNamespace(execute=execute), remove=lambda: None)

STAND_INS: dict[str, Any] = {
    "ckan.common.config": SimpleNamespace(get=lambda _name: portal.url),
    "ckan.lib.create_test_data.CreateTestData.create": partial(create_dataset, **_BOOKS),
    "ckan.logic.NotAuthorized": NotAuthorizedError,
    "ckan.logic.NotFound": NotFoundError,
    "ckan.logic.ValidationError": ValidationError,
    "ckan.model.Package.get": Row.get_package,
    "ckan.model.Resource.get": lambda name: Row(id=name),
    "ckan.model.Session.refresh": id,
    "ckan.plugins.toolkit.NotAuthorized": NotAuthorizedError,
    "ckan.plugins.toolkit.ValidationError": ValidationError,
    "ckan.plugins.toolkit.get_action": get_action,
    "ckan.plugins.toolkit.job_from_id": {}.__getitem__,  # there are no jobs of CKAN
    "ckan.plugins.use_plugin": nullcontext,
    "ckan.tests.factories.APIToken": portal.create_token,
    "ckan.tests.factories.Dataset": create_dataset,
    "ckan.tests.factories.Organization": create_organization,
    "ckan.tests.factories.Resource": create_resource,
    "ckan.tests.factories.Sysadmin": lambda: portal.create_user(is_superuser=True),
    "ckan.tests.factories.User": portal.create_user,
    "ckan.tests.helpers.call_action": call_action,
    "ckan.tests.helpers.call_auth": call_auth,
    "ckanext.datastore.backend.postgres.get_write_engine": lambda: None,
    "sqlalchemy.orm.scoped_session": lambda _maker: _SESSION,
    "sqlalchemy.orm.sessionmaker": dict,
    "sqlalchemy.text": str,
}
