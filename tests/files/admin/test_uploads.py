"""A file that is too large, or that may not be uploaded, is refused before it is received."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.test import Client
from django.urls import reverse

from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.models import MAX_ALIAS_LENGTH, Resource

from ...builders import SURVEY, make_user
from ...streams import FILE, MULTIPART, Answer, send
from ..builders import list_files
from .forms import FORM, make_file

GB = 2**30
#: A form with a CSRF token: Django reads the body to find it.
CSRF = "a" * 32
TOKEN = f'--b\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{CSRF}\r\n'


@pytest.fixture
def resource(db: None) -> Resource:
    return Resource.objects.create(name="empty")


@pytest.fixture(params=["load", "options"])
def page(request: pytest.FixtureRequest, resource: Resource) -> str:
    """The path of a page with a file input: that of a resource, or that of a draft."""
    if request.param == "load":
        return reverse("admin:datastore_search_resource_load", args=[resource.pk])
    draft = Load.objects.create(resource=resource, state=LoadState.DRAFT, source="a.csv")
    return reverse("admin:datastore_search_files_load_options", args=[draft.pk])


def upload(path: str, size: int, user: Any = None, **environ: str) -> Answer:
    """Send a file with a CSRF cookie, and with the session of a user if there is one."""
    cookies = f"csrftoken={CSRF}"
    if user is not None:
        client = Client()
        client.force_login(user)
        cookies += f"; sessionid={client.cookies['sessionid'].value}"
    return send(path, TOKEN.encode() + FILE, size, MULTIPART, HTTP_COOKIE=cookies, **environ)


@pytest.mark.parametrize(
    ("values", "status"),
    [
        (None, 302),
        ({}, 302),
        ({"is_staff": True}, 403),
        ({"is_staff": True, "permissions": ("view_resource",)}, 403),
    ],
    ids=["anonymous", "not staff", "staff", "viewer"],
)
def test_an_upload_without_permission_is_not_read(
    page: str, values: dict[str, Any] | None, status: int
) -> None:
    answer = upload(page, 3 * GB // 2, None if values is None else make_user(**values))

    assert (answer.status, answer.bytes_read) == (status, 0)


def test_an_upload_for_an_unknown_object_is_not_read(boss: Any) -> None:
    for name in (
        "datastore_search/resource/5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11/load/",
        "datastore_search_files/load/999999/options/",
    ):
        answer = upload(f"/en/admin/{name}", 1_000, boss)
        assert (answer.status, answer.bytes_read) == (404, 0)


def test_an_upload_that_is_too_large_is_not_read(page: str, boss: Any) -> None:
    answer = upload(page, 3 * GB // 2, boss)

    assert (answer.status, answer.bytes_read) == (413, 0)
    assert "The file is larger than 1.0" in answer.content
    assert '<input type="file" name="file"' in answer.content


def test_a_file_that_is_a_little_too_large_is_refused_by_the_form(
    staff: Client, page: str, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_UPLOAD_BYTES = 10

    response = staff.post(page, {**FORM, "file": make_file(SURVEY)})

    assert "The file is larger than 10" in response.content.decode()


@pytest.mark.parametrize("full", [(FileSystemStorage, "_save"), (TemporaryUploadedFile, "write")])
def test_an_upload_that_cannot_be_stored_is_refused_by_the_form(
    staff: Client, page: str, settings: Any, monkeypatch: pytest.MonkeyPatch, full: tuple[type, str]
) -> None:
    uploads: Path = settings.MEDIA_ROOT
    (uploads / "datastore_search").mkdir(parents=True)
    (uploads / "earlier.csv").write_text(SURVEY)
    Load.objects.update(file="earlier.csv")  # of the draft
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 0

    def fill_disk(target: Any, name: str, *_content: object) -> None:
        if isinstance(target, FileSystemStorage):
            Path(target.path(name)).write_text("a part")
        else:
            target.close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*full, fill_disk, raising=False)
    response = staff.post(page, {**FORM, "file": make_file(SURVEY)})

    assert response.status_code == 503
    assert "The file cannot be stored or read at the moment." in response.content.decode()
    assert [path.name for path in list_files(uploads)] == ["earlier.csv"]
    assert not Load.objects.exclude(file="earlier.csv").exists()


def test_an_upload_whose_length_is_no_number_is_refused(page: str, boss: Any) -> None:
    answer = upload(page, 1_000, boss, CONTENT_LENGTH="many")

    assert (answer.status, answer.bytes_read) == (400, 0)


def test_a_forged_upload_is_still_refused(resource: Resource, boss: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(boss)
    path = reverse("admin:datastore_search_resource_load", args=[resource.pk])
    client.cookies["csrftoken"] = CSRF

    assert client.post(path, {**FORM, "file": make_file(SURVEY)}).status_code == 403
    assert not Load.objects.exists()
    own = {**FORM, "file": make_file(SURVEY), "csrfmiddlewaretoken": CSRF}
    assert client.post(path, own).status_code == 302
    assert Load.objects.count() == 1


@pytest.mark.parametrize("model", ["resource", "load"])
@pytest.mark.parametrize("page", ["change", "delete", "history"])
def test_an_address_that_is_too_long_is_404(staff: Client, model: str, page: str) -> None:
    path = f"/en/admin/datastore_search/{model}/{'9' * (MAX_ALIAS_LENGTH + 1)}/{page}/"

    assert staff.get(path).status_code == 404
