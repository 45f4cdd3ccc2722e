"""
The file that a form sends for a resource: it is received in blocks, and an app stores it.

Source: CKAN's parameter ``upload`` of ``resource_create``, ``resource_update`` and
``resource_patch``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from ..conf import conf
from ..contributions import Hook
from ..guards.folders import create_working_folder
from ..messages.availability import FileNotStored
from ..messages.requests import FormBrokenOff, FormTooSlow, RequestTooLarge
from ..models import Resource

#: The part of a form that has the file.
UPLOAD: Final = "upload"

#: A part that clients send as well, with the same file; it is received, and dropped.
_COPY: Final = "file"

#: The time in which a form must arrive, as a file from a URL.
MAX_SECONDS: Final = 30 * 60

#: The last boundary of a form, and what may follow it.
_MAX_END_BYTES: Final = 300

_BLOCK_BYTES: Final = 2**16


@dataclass(frozen=True)
class UploadStore:
    """
    What an app does with the files of resources.

    ``receive`` is called within the transaction that changes a resource, with its file, None if
    none was sent, and with CKAN's members as they will be stored; it returns members that replace
    them or are added.  ``describe`` returns members of ``resource_show`` that are not stored.
    Without ``get_max_bytes`` no file is accepted.
    """

    receive: Callable[
        [Request, Resource, UploadedFile | None, Mapping[str, Any]], Mapping[str, Any]
    ] = lambda _request, _resource, _file, _members: {}
    describe: Callable[[Request, Resource], Mapping[str, Any]] = lambda _request, _resource: {}
    get_max_bytes: Callable[[], int] = lambda: 0


uploads: Hook[UploadStore] = Hook("store of uploads", UploadStore())


class ReceivedFile(UploadedFile):
    """A file in a working folder, which is deleted with it when the file is closed."""

    def __init__(self, name: str, content_type: str) -> None:
        self._stack = ExitStack()
        self._path = self._stack.enter_context(create_working_folder()) / UPLOAD
        super().__init__(self._path.open("w+b"), name, content_type, size=0)

    def temporary_file_path(self) -> str:
        """Return the path, from which a storage of this machine moves the file."""
        return str(self._path)

    def close(self) -> None:
        super().close()
        self._stack.close()


class ReceiveFile(FileUploadHandler):
    """
    Receive the file ``upload`` of a form, within the limits of size and time.

    It reads the stream for Django's parser, which takes the end of a form that was broken off for
    the end of its file.
    """

    request: HttpRequest

    def __init__(self, request: HttpRequest, max_bytes: int) -> None:
        super().__init__(request)
        self._max_bytes, self._deadline = max_bytes, monotonic() + MAX_SECONDS
        self._left = 2 * max_bytes + conf.MAX_WRITE_BODY_BYTES
        self._last_boundary = self._end = b""
        self.file: ReceivedFile | None = None

    def handle_raw_input(
        self,
        input_data: Any,
        META: Mapping[str, Any],  # noqa: N803 - Django's name
        content_length: int,
        boundary: Any,
        encoding: str | None = None,
    ) -> None:
        self._last_boundary = b"--" + boundary + b"--"
        # `read` of the request calls that of the stream.
        self._stream = self.request._stream  # noqa: SLF001 - Django has no other name
        vars(self.request)["_stream"] = self

    def read(self, *arguments: int) -> bytes:
        """Read a block.  Raises: ``FormBrokenOff``; ``FormTooSlow``; ``RequestTooLarge``."""
        with self._discard_on_error():
            block: bytes = self._stream.read(*arguments)
            self._end = (self._end + block)[-_MAX_END_BYTES:]
            self._left -= len(block)
            if self._left < 0:
                raise RequestTooLarge(most=self._max_bytes)
            if monotonic() > self._deadline:
                raise FormTooSlow(minutes=round(MAX_SECONDS / 60, 1))
            if not block and self._last_boundary not in self._end:
                raise FormBrokenOff
        return block

    def readline(self, *_arguments: int) -> bytes:
        """Read a block after the last boundary, where Django drops lines."""
        return self.read(_BLOCK_BYTES)

    @contextmanager
    def _discard_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            if self.file is not None:
                self.file.close()
            raise

    def new_file(self, field_name: str, *arguments: Any, **more: Any) -> None:
        super().new_file(field_name, *arguments, **more)
        if field_name == UPLOAD:
            self.file = ReceivedFile(str(self.file_name), str(self.content_type))
        elif field_name != _COPY:
            raise build_file_error(field_name)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        with self._discard_on_error():
            if start + len(raw_data) > self._max_bytes:
                raise RequestTooLarge(most=self._max_bytes)
            if self.file is not None:
                try:
                    self.file.write(raw_data)
                except OSError as error:
                    raise FileNotStored from error

    def file_complete(self, file_size: int) -> ReceivedFile | None:
        received, self.file = self.file, None
        if received is not None:
            received.size = file_size
            received.seek(0)
        return received


def get_upload(sent: Mapping[str, object]) -> UploadedFile | None:
    """Return the file that was sent; clients also send an empty text in its place."""
    file = sent.get(UPLOAD)
    return file if isinstance(file, UploadedFile) else None


def build_file_error(name: str) -> ValidationError:
    return ValidationError({name: [str(_("Files cannot be sent."))]})
