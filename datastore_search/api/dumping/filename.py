"""
The file name of a dump.

Source: RFC 6266, by which a header has a name in ASCII and a second one in Unicode.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from django.utils.http import content_disposition_header
from django.utils.text import slugify

from ...models import Resource

#: Characters that some file system forbids or interprets; the last change the direction of writing
#: and so could hide the extension.
_UNSAFE = re.compile(
    r'[\\/:*?"<>|%\s\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+'
)

#: Without the extension; any file system takes names of 255 bytes.
_MAX_NAME_BYTES = 200


def build_content_disposition(resource: Resource, extension: str) -> str:
    """Build the header; the file is named after the resource's title, or its name."""
    title = _remove_unsafe_characters(resource.local_title.text) or resource.name
    if title.isascii():
        return str(content_disposition_header(True, f"{title}.{extension}"))
    # In ASCII; ``slugify`` alone would drop the letter đ.
    plain = slugify(title.translate({ord("đ"): "d", ord("Đ"): "D"})) or resource.name
    encoded = quote(f"{title}.{extension}")
    return f"attachment; filename=\"{plain}.{extension}\"; filename*=UTF-8''{encoded}"


def _remove_unsafe_characters(title: str) -> str:
    fit = unicodedata.normalize("NFC", _UNSAFE.sub(" ", title)).strip(" .")
    return fit.encode()[:_MAX_NAME_BYTES].decode(errors="ignore").strip(" .")
