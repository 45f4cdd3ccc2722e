"""System checks of the engine: a folder for its snapshots."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register

from .engine.process import get_folder


@register(Tags.files)
def check_snapshots_folder(**_options: Any) -> Iterator[CheckMessage]:
    try:
        problem = "" if os.access(get_folder(), os.W_OK | os.X_OK) else "It cannot be written."
    except (OSError, TypeError) as error:
        problem = str(error)
    if problem:
        yield Warning(
            f"The folder of snapshots cannot be used: {problem}",
            hint="Let DATASTORE_SEARCH_SNAPSHOTS_FOLDER name a folder that this user may write.",
            id="datastore_search.W025",
        )
