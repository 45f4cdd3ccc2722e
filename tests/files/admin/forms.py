"""What staff send: a file, and the form of an upload."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile

FORM = {"mode": "replace", "bad_rows": "refuse"}
CSV = "subject,amount\nwatershed,10.50\nsurvey,\n"


def make_file(text: str | bytes = CSV, name: str = "survey.csv") -> SimpleUploadedFile:
    """Make a file as a browser sends it."""
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)
