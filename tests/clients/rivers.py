"""What the clients read, and what each of them finds out."""

from __future__ import annotations

import uuid
from typing import Any

#: The paths below which a portal answers: without a locale, and with one.
PATHS = ("", "/en_GB")

RIVERS = """\
code,station,level,seen
001,Huế,10.50,2019-01-02
002,Sông Hồng,20.25,2020-02-29
003,"Vinh, bridge",,2021-01-01
"""

RIVERS_ID = uuid.UUID("4f1b7f2e-5a6c-4d3b-9f0e-2b8c1d7a6e50")

#: What each client finds out, whatever it is written in.
FINDINGS: dict[str, Any] = {
    "dataset": "rivers",
    "title": "River levels",
    "resource": str(RIVERS_ID),
    "format": "CSV",
    "fields": ["code", "station", "level", "seen"],
    "total": 3,
    "stations": ["Huế", "Sông Hồng", "Vinh, bridge"],
    "file": ["_id,code,station,level,seen", "1,001,Huế,10.50,2019-01-02T00:00:00.000"],
}
