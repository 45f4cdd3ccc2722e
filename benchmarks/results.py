"""The figures of a run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import tables
from .breakdown import Shares
from .comparison import Figures
from .loads import tables as load_tables
from .loads.files import LoadFigures, ManyFigures
from .report import Table
from .resources import Cost
from .spread import Spread
from .timing import Timing


@dataclass(slots=True)
class Results:
    """
    All measurements, part by part.

    ``setting`` describes the machine, ``records`` is the number of records of the resource.  A
    request that was not possible has None in place of its figures.
    """

    setting: list[str]
    records: int = 0
    load: list[Cost] = field(default_factory=list)
    requests: dict[str, Figures | None] = field(default_factory=dict)
    ckan_records: int | None = None
    growth_sizes: list[int] = field(default_factory=list)
    growth: dict[str, list[Timing] | None] = field(default_factory=dict)
    resources_number: int = 0
    resources: dict[str, Spread] = field(default_factory=dict)
    breakdown: dict[str, Shares] = field(default_factory=dict)
    loads: list[LoadFigures] = field(default_factory=list)
    small_loads: list[ManyFigures] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def tables(self) -> dict[str, Table]:
        """Make a table of each measured part, by the part's name."""
        records = f"{self.records:,} records"
        ckan = [] if self.ckan_records is None else [f"CKAN: {self.ckan_records:,}"]
        number = f"{self.resources_number:,} resources"
        made = {
            "load": tables.load(self._build_caption(), self.load),
            "requests": tables.requests(self._build_caption(records, *ckan), self.requests),
            "growth": tables.growth(self._build_caption(), self.growth_sizes, self.growth),
            "resources": tables.resources(self._build_caption(number), self.resources),
            "breakdown": tables.breakdown(self._build_caption(records), self.breakdown),
            "loads": load_tables.loads(self._build_caption(), self.loads),
            "small-loads": load_tables.many(self._build_caption(), self.small_loads),
        }
        return {name: table for name, table in made.items() if table.rows}

    def _build_caption(self, *parts: str) -> str:
        return f"{'; '.join([*parts, *self.setting])}."
