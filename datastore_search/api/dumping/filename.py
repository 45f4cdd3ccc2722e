"""
The name of the file that a dump is kept under.

Source: RFC 6266, which gives two names: one in ASCII, and one in any letters for whoever reads it.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from django.utils.http import content_disposition_header
from django.utils.text import slugify

from ...models import Resource

#: What some system does not want in the name of a file, or reads as something else; the last are
#: the characters that turn the direction of writing, and so could hide the ending.
_UNFIT = re.compile(
    r'[\\/:*?"<>|%\s\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+'
)

#: With its ending, every file system takes a name of so many bytes.
_NAME_BYTES = 200


def content_disposition(resource: Resource, extension: str) -> str:
    """Name the file after the resource's title, or its name."""
    title = _readable(str(resource)) or resource.name
    if title.isascii():
        return str(content_disposition_header(True, f"{title}.{extension}"))
    plain = _slug(title) or resource.name
    encoded = quote(f"{title}.{extension}")
    return f"attachment; filename=\"{plain}.{extension}\"; filename*=UTF-8''{encoded}"


def _readable(title: str) -> str:
    fit = unicodedata.normalize("NFC", _UNFIT.sub(" ", title)).strip(" .")
    return fit.encode()[:_NAME_BYTES].decode(errors="ignore").strip(" .")


def _slug(title: str) -> str:
    """Write a title in ASCII; đ is a letter of its own, which loses its stroke here."""
    return slugify(title.translate({ord("đ"): "d", ord("Đ"): "D"}))
