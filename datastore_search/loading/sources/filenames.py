"""What a fetched file is called."""

from __future__ import annotations

import re
from contextlib import suppress
from http.client import HTTPResponse
from mimetypes import guess_extension
from pathlib import PurePath
from urllib.parse import unquote

from django.utils.http import parse_header_parameters

from .addresses import Address

_LETTERS = 200
_ENDING_LETTERS = 20


def name_of(address: Address, response: HTTPResponse) -> str:
    """Find what the file is called, as the server says or else as its address ends."""
    said = _disposed(header(response, "Content-Disposition"))
    ending = unquote(address.target.partition("?")[0]).rstrip("/")
    name = _bare(said) or _bare(ending) or address.host
    kind = (response.getheader("Content-Type") or "").partition(";")[0].strip()
    return name if PurePath(name).suffix else name + (guess_extension(kind) or "")


def _disposed(said: str) -> str:
    """Read the file name of a header ``Content-Disposition``; ``filename*`` counts first."""
    try:
        return str(parse_header_parameters(said)[1].get("filename", ""))
    except (ValueError, LookupError):
        return ""


def header(response: HTTPResponse, name: str) -> str:
    """Give a header as UTF-8 if it is; HTTP hands it over as Latin-1, whatever was written."""
    value = response.getheader(name) or ""
    with suppress(UnicodeError):
        return value.encode("latin-1").decode()
    return value


def _bare(name: str) -> str:
    """Take folders, control characters and what is too long off a name."""
    last = re.split(r"[/\\]", name)[-1]
    bare = re.sub(r"[\x00-\x1f\x7f-\x9f]", "", last).strip(" .")
    ending = PurePath(bare).suffix[:_ENDING_LETTERS]
    return bare if len(bare) <= _LETTERS else bare[: _LETTERS - len(ending)] + ending
