"""The options of a run, from the command line and the environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from example_project.management.commands.serve import DEFAULT_THREADS

_DESCRIPTION = (
    "Time each kind of request to the portal and, in turn with it, its statements alone."
    " --growth, --resources, --breakdown, --loads and --small-loads measure other parts instead."
    " To measure the requests too, add --requests."
)


PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "performance.md"


@dataclass(frozen=True, slots=True)
class Options:
    """
    The parts to measure, and the method.

    ``rows`` is the number of records of the resource; ``seconds`` is the time of each subject
    within a round.
    """

    rows: int
    csv: Path | None
    data: Path | None
    reload: bool
    workers: int
    threads: int
    rounds: int
    seconds: float
    only: tuple[str, ...]
    ckan: str
    ckan_resource: str
    requests: bool
    growth: tuple[int, ...]
    resources: int
    breakdown: bool
    loads: tuple[int, ...]
    small_loads: int
    ckan_load: str
    out: Path | None
    report: Path | None

    @property
    def has_requests(self) -> bool:
        """Return whether any part sends requests to the portal."""
        return self.requests or bool(self.growth or self.resources or self.breakdown)

    @property
    def sizes(self) -> list[int]:
        """The number of records of each resource, the smallest first."""
        rows = {self.rows} if self.requests or self.breakdown else set()
        return sorted(rows | set(self.growth))


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; the default part is the requests."""
    parser = _build_parser()
    values = vars(parser.parse_args(arguments))
    if bool(values["ckan"]) != bool(values["ckan_resource"]):
        parser.error("--ckan and --ckan-resource go together.")
    if values["ckan"] and urlsplit(values["ckan"]).scheme != "http":
        parser.error("--ckan takes the URL of a server beside this one: http://host:port")
    if values["ckan_load"] and not values["loads"]:
        parser.error("--ckan-load goes with --loads.")
    parts = [values[name] for name in ("growth", "resources", "breakdown", "loads", "small_loads")]
    values["requests"] = values["requests"] or not any(parts)
    lists = {name: tuple(values[name]) for name in ("growth", "only", "loads")}
    return Options(**{**values, **lists})


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=_DESCRIPTION)
    _add_data(parser.add_argument_group("the data"))
    _add_parts(parser.add_argument_group("the parts"))
    _add_timing(parser.add_argument_group("the timing"))
    _add_results(parser.add_argument_group("the results"))
    return parser


def _add_data(group: argparse._ArgumentGroup) -> None:
    rows = int(os.environ.get("BENCH_ROWS", "100000"))
    group.add_argument(
        "--rows", type=_parse_positive_integer, default=rows, help="records (%(default)s)"
    )
    group.add_argument("--csv", type=Path, help="load this file (its first rows, if it has more)")
    group.add_argument("--data", type=Path, help="keep the generated files in this folder")
    group.add_argument("--reload", action="store_true", help="load again what is already loaded")


def _add_parts(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--requests", action="store_true", help="each request of the list")
    group.add_argument(
        "--growth",
        type=_parse_positive_integer,
        nargs="+",
        default=(),
        metavar="ROWS",
        help="by size of resource",
    )
    group.add_argument(
        "--resources",
        type=_parse_positive_integer,
        default=0,
        metavar="N",
        help="spread over small resources",
    )
    group.add_argument("--breakdown", action="store_true", help="where the time goes")
    group.add_argument(
        "--loads",
        type=_parse_positive_integer,
        nargs="+",
        default=(),
        metavar="ROWS",
        help="loads, beside COPY",
    )
    group.add_argument(
        "--small-loads",
        type=_parse_positive_integer,
        default=0,
        metavar="N",
        help="small files, one after the other",
    )


def _add_timing(group: argparse._ArgumentGroup) -> None:
    workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
    group.add_argument(
        "--workers",
        type=_parse_positive_integer,
        default=workers,
        help="of the server (%(default)s)",
    )
    group.add_argument(
        "--threads",
        type=_parse_positive_integer,
        default=DEFAULT_THREADS,
        help="of each worker (%(default)s)",
    )
    group.add_argument("--rounds", type=_parse_positive_integer, default=3, help="(%(default)s)")
    group.add_argument(
        "--seconds", type=float, default=3.0, help="of each subject in a round (%(default)s)"
    )
    group.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these requests")
    group.add_argument("--ckan", default="", metavar="URL", help="time this CKAN in turn too")
    group.add_argument("--ckan-resource", default="", metavar="ID", help="its resource")
    group.add_argument(
        "--ckan-load",
        default="",
        metavar="URL",
        help="time loads by CKAN in turn too: the database of its DataStore",
    )


def _add_results(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--out", type=Path, metavar="FILE.json", help="save the figures")
    group.add_argument(
        "--report",
        type=Path,
        nargs="?",
        const=PAGE,
        metavar="PAGE.md",
        help="write the tables into a page (default: docs/explanation/performance.md)",
    )


def _parse_positive_integer(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number from 1")
    return int(text)
