"""The lines of the documentation add the document to a portal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.conf.urls.i18n import i18n_patterns
from django.test import Client

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "openapi.md"


def test_the_lines_of_the_docs_serve_the_document_and_its_viewer(
    client: Client, db: None, settings: Any
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    (lines,) = [block for block in blocks if "SchemaView.as_view" in block]
    names: dict[str, Any] = {"urlpatterns": i18n_patterns()}

    exec(lines, names)

    settings.ROOT_URLCONF = type("urls", (), {"urlpatterns": names["urlpatterns"]})
    assert client.get("/en/api/schema/").status_code == 200
    assert client.get("/en/api/docs/").status_code == 200
