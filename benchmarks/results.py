"""The figures of a run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import tables
from .breakdown import Shares
from .comparison import Figures
from .loads import tables as load_tables
from .loads.files import LoadFigures, SmallFilesFigures
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
    small_loads: list[SmallFilesFigures] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def build_tables(self) -> dict[str, Table]:
        """Make a table of each measured part, by the part's name."""
        records = f"{self.records:,} records"
        ckan = [] if self.ckan_records is None else [f"CKAN: {self.ckan_records:,}"]
        number = f"{self.resources_number:,} resources"
        tables_by_name = {
            "load": tables.build_load_table(self._build_caption(), self.load),
            "requests": tables.build_requests_table(
                self._build_caption(records, *ckan), self.requests
            ),
            "growth": tables.build_growth_table(
                self._build_caption(), self.growth_sizes, self.growth
            ),
            "resources": tables.build_resources_table(self._build_caption(number), self.resources),
            "breakdown": tables.build_breakdown_table(self._build_caption(records), self.breakdown),
            "loads": load_tables.build_loads_table(self._build_caption(), self.loads),
            "small-loads": load_tables.build_small_files_table(
                self._build_caption(), self.small_loads
            ),
        }
        return {name: table for name, table in tables_by_name.items() if table.rows}

    def _build_caption(self, *parts: str) -> str:
        return f"{'; '.join([*parts, *self.setting])}."
