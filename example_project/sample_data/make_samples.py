#!/usr/bin/env python3
"""Write the made-up sample tables of the demo.

    python3 make_samples.py            survey, every_type and staff tables
    apt-cache dumpavail | python3 make_samples.py debian
                                       the Debian package table (real data)

The made-up tables are the same on every run (fixed seed).  The Debian table
follows the package index it is given, so a newer index gives other rows.

Made by the project; CC0 1.0 (public domain dedication).
"""

import csv
import datetime as dt
import hashlib
import json
import random
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEED = 20240607
SURVEY_ROWS = 2000
TODAY = dt.date(2026, 3, 31)  # the made-up survey programme's reporting day


class Dice:
    """Only Random.random(), whose sequence Python promises to keep."""

    def __init__(self, seed):
        self._random = random.Random(seed).random

    def below(self, n):
        return int(self._random() * n)

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def pick(self, items):
        return items[self.below(len(items))]

    def chance(self, share):
        return self._random() < share

    def weighted(self, pairs):
        mark = self._random() * sum(weight for _, weight in pairs)
        for value, weight in pairs:
            mark -= weight
            if mark < 0:
                return value
        return pairs[-1][0]

    def lognormal(self, low, high):
        """Between low and high, small values more often."""
        return low * (high / low) ** ((self._random() + self._random()) / 2)


def write(name, header, rows):
    with open(HERE / name, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(header)
        out.writerows(rows)


# --------------------------------------------------------------------------
# watershed_survey.csv

SURVEY_FIELDS = [
    "project_code",
    "title",
    "subject",
    "stage",
    "region",
    "lead",
    "start_date",
    "updated_at",
    "budget",
    "sites",
    "depth_m",
    "open_data",
    "summary",
]
REGIONS = ["North", "Lakes", "Delta", "Uplands", "East Coast", "Karst", "Old Forest", "Islands"]
SEASIDE = ["Delta", "East Coast", "Islands"]
PLACES = [
    "Alder",
    "Brindle",
    "Cotter",
    "Dunmore",
    "Elver",
    "Fenwick",
    "Garrow",
    "Hazel",
    "Isbel",
    "Juniper",
    "Kestrel",
    "Lorne",
    "Marl",
    "Nettle",
    "Otter",
    "Pellow",
    "Quill",
    "Rushen",
    "Sorrel",
    "Tarn",
    "Umber",
    "Vesper",
    "Willow",
    "Yarrow",
]
LEADS = [
    "A. Okafor",
    "B. Lindqvist",
    "C. Moreau",
    "D. Nguyễn",
    "E. Sørensen",
    "F. Castillo",
    "G. Novák",
    "H. Tanaka",
    "I. Petrova",
    "J. O'Neill",
    "K. Mwangi",
    "L. García",
    "M. Haddad",
    "N. Trần",
    "P. Kowalski",
    "R. Iyer",
    "S. Müller",
    "T. Adeyemi",
    "V. Rossi",
    "Z. Çelik",
]

# subject -> weight, features, kinds of work, who and what, where, findings
SUBJECTS = {
    "watershed": (
        24,
        ["River", "Creek", "Basin", "Headwaters"],
        ["catchment map", "flow gauging", "sediment budget", "flood marks"],
        [
            "Gauges track flow",
            "Volunteers map eroding banks",
            "Crews sample turbid water",
            "Loggers record stage and temperature",
            "A drone traces old meanders",
            "Students count mayflies",
            "Divers inspect scour holes",
            "Engineers measure culverts",
        ],
        [
            "along the lower river",
            "below the mill weir",
            "in three tributaries",
            "across the floodplain",
            "above the reservoir",
            "at the confluence",
            "in steep headwater streams",
            "near the river mouth",
        ],
        [
            "Nitrate peaked after autumn storms.",
            "Spring melt came two weeks early.",
            "Salmon returned past the old dam.",
            "Silt buried the spawning gravel.",
            "Low flow worries irrigators.",
            "Beaver ponds slowed the flood pulse.",
            "Dissolved oxygen stayed high.",
            "Two gauges drifted and were reset.",
        ],
    ),
    "survey": (
        22,
        ["Transect", "Ridge", "Valley", "Quadrant"],
        ["baseline survey", "repeat levelling", "household survey", "lidar pass"],
        [
            "Surveyors repeat a 1950s traverse",
            "Interviewers ask about wells",
            "Lidar reveals buried terraces",
            "A small team levels benchmarks",
            "Rangers walk fixed transects",
            "Cyclists photograph road drains",
            "Farmers report river crossings",
            "Two boats sound the channel",
        ],
        [
            "between the ferry and the bridge",
            "across nine parishes",
            "along the river terrace",
            "on the southern boundary",
            "around the quarry lake",
            "in scattered hamlets",
            "from ridge to valley floor",
            "beside the disused canal",
        ],
        [
            "Most benchmarks were found intact.",
            "Response rates passed 70 %.",
            "Fog delayed the aerial work.",
            "Older maps misplace the river bend.",
            "Heights shifted by a few millimetres.",
            "Half the wells ran dry in August.",
            "A second visit is scheduled.",
            "Field notes are being digitised.",
        ],
    ),
    "forest": (
        13,
        ["Wood", "Grove", "Plantation", "Ridge"],
        ["canopy plots", "seedling count", "deadwood census", "fire scars"],
        [
            "Foresters core ancient oaks",
            "Camera traps watch martens",
            "Crews tally beech seedlings",
            "Climbers collect canopy lichens",
            "Pupils weigh leaf litter",
            "Botanists list orchids",
        ],
        [
            "in unmanaged stands",
            "along the riverside wood",
            "on burnt slopes",
            "under closed canopy",
            "at the timber line",
            "inside deer fences",
        ],
        [
            "Bark beetles spread uphill.",
            "Hollow trunks shelter seven bats.",
            "Growth rings show the 1976 drought.",
            "Browsing halved regeneration.",
            "Storm gaps fill with birch.",
            "Fungi thrive on fallen logs.",
        ],
    ),
    "soil": (
        11,
        ["Field", "Terrace", "Plain", "Slope"],
        ["carbon cores", "erosion pins", "pH grid", "earthworm count"],
        [
            "Technicians auger deep cores",
            "Growers test cover crops",
            "Pins measure sheet erosion",
            "Children dig for earthworms",
            "Probes log moisture",
            "A lab ages buried peat",
        ],
        [
            "on tilled clay",
            "across river silts",
            "under permanent pasture",
            "in the vineyard terraces",
            "on a contour grid",
            "beside the dry ditch",
        ],
        [
            "Organic carbon rose slightly.",
            "Compaction hinders drainage.",
            "Acid patches need lime.",
            "Gullies deepened after rain.",
            "Salt crusts appear in summer.",
            "Terraces held back the mud.",
        ],
    ),
    "air": (
        9,
        ["Hill", "Junction", "Park", "Harbour"],
        ["dust traps", "ozone log", "pollen count", "smoke watch"],
        [
            "Samplers catch fine dust",
            "Sensors follow rush-hour soot",
            "A balloon lifts an ozone sonde",
            "Beekeepers collect pollen",
            "Lichens reveal ammonia",
            "Schools read passive tubes",
        ],
        [
            "above the ring road",
            "in the river valley",
            "downwind of kilns",
            "around the port",
            "on rooftop masts",
            "near poultry sheds",
        ],
        [
            "Winter inversions trap smoke.",
            "Levels fell on car-free days.",
            "Desert haze tinted two filters.",
            "One sensor failed in frost.",
            "Pollen arrived early.",
            "Night values exceed the guideline.",
        ],
    ),
    "coast": (
        10,
        ["Bay", "Cliff", "Dune", "Spit"],
        ["dune profile", "tide poles", "kelp dive", "shell line"],
        [
            "Divers chart kelp",
            "Kites photograph dunes",
            "Wardens count terns",
            "Tide poles record surges",
            "Fishers log their nets",
            "Walkers sort beach litter",
        ],
        [
            "on the shingle spit",
            "off the lighthouse",
            "beyond the river mouth",
            "under chalk cliffs",
            "in the sheltered bay",
            "along the sea wall",
        ],
        [
            "Dunes retreated four metres.",
            "Seagrass is creeping back.",
            "A gale breached the bar.",
            "Oysters settled on old piers.",
            "Plastic pellets persist.",
            "Nests survived the spring tide.",
        ],
    ),
    "wetland": (
        6,
        ["Marsh", "Fen", "Mere"],
        ["reed survey", "dipwells", "frog chorus"],
        [
            "Dipwells record the water table",
            "Microphones catch bitterns",
            "Wardens cut reed",
            "Netters tag dragonflies",
        ],
        [
            "in the old peat cuttings",
            "beside the slow river",
            "on floating mats",
            "around shallow pools",
        ],
        [
            "Sphagnum recovers quickly.",
            "Toads crossed in March.",
            "Ditches were blocked with turf.",
            "Methane bubbles in warm spells.",
        ],
    ),
    "wildlife": (
        5,
        ["Moor", "Warren", "Island"],
        ["otter signs", "bat walk", "bird atlas"],
        [
            "Trackers look for otters",
            "Ringers band warblers",
            "Detectors listen for bats",
            "Hikers note hares",
        ],
        ["along river islands", "on heather moor", "at dusk", "in hedged lanes"],
        [
            "Spraint was found at six bridges.",
            "Curlews failed to breed.",
            "A lynx crossed one camera.",
            "Hedgehogs avoid lit paths.",
        ],
    ),
}


def write_survey():
    dice = Dice(SEED)
    first, last = dt.date(2012, 1, 9), dt.date(2028, 3, 31)
    rows = []
    for number in range(1, SURVEY_ROWS + 1):
        subject = dice.weighted([(k, v[0]) for k, v in SUBJECTS.items()])
        _, features, kinds, works, wheres, findings = SUBJECTS[subject]
        place = dice.pick(PLACES)
        region = dice.pick(SEASIDE if subject == "coast" else REGIONS)
        title = f"{place} {dice.pick(features)} {dice.pick(kinds)}"
        # later codes tend to start later
        spread = (number / SURVEY_ROWS) * 0.8 + dice.below(1000) / 1000 * 0.2
        start = first + dt.timedelta(days=int((last - first).days * spread))
        age = (TODAY - start).days
        if age < 0:
            stage = "planned"
        elif age < 200:
            stage = dice.weighted([("planned", 1), ("active", 8), ("review", 1)])
        elif age < 1500:
            stage = dice.weighted([("active", 7), ("review", 3), ("closed", 3)])
        else:
            stage = dice.weighted([("active", 2), ("review", 1), ("closed", 7)])
        # the last change lies between the start (or the planning) and today
        if age < 0:
            changed = TODAY - dt.timedelta(days=dice.below(240))
        elif stage == "closed":
            changed = start + dt.timedelta(days=min(age, dice.between(120, 1400)))
        else:
            changed = TODAY - dt.timedelta(days=dice.below(min(age, 420) + 1))
        updated = dt.datetime.combine(
            changed, dt.time(dice.between(7, 18), dice.below(60), dice.below(60))
        )
        lead = "" if stage == "planned" and dice.chance(0.4) else dice.pick(LEADS)
        budget = f"{dice.lognormal(900, 480000):.2f}"
        sites = "" if stage == "planned" and dice.chance(0.3) else int(dice.lognormal(1, 140))
        depth = {
            "air": lambda: "",
            "forest": lambda: "",
            "wildlife": lambda: "",
            "soil": lambda: f"{dice.lognormal(0.1, 6):.2f}",
            "coast": lambda: f"{dice.lognormal(0.5, 60):.1f}",
        }.get(subject, lambda: f"{dice.lognormal(0.2, 25):.2f}")()
        if stage == "planned":
            depth = ""
        rows.append(
            [
                f"{number:03d}",
                title,
                subject,
                stage,
                region,
                lead,
                start.isoformat(),
                updated.isoformat(),
                budget,
                sites,
                depth,
                "true" if dice.chance(0.72) else "false",
                f"{dice.pick(works)} {dice.pick(wheres)}. {dice.pick(findings)}",
            ]
        )
    write("watershed_survey.csv", SURVEY_FIELDS, rows)


# --------------------------------------------------------------------------
# every_type.csv: one field for every type, and field names that are awkward

LONG_NAME = "Mức độ hoàn thành nhiệm vụ khảo sát lưu vực sông trong năm báo cáo (phần trăm)"
EVERY_TYPE = {
    "text": "text",
    "int2": "int2",
    "int4": "int4",
    "int8": "int8",
    "float8": "float8",
    "numeric": "numeric",
    "bool": "bool",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "time": "time",
    "json": "json",
    "texts": "_text",
    "ints": "_int4",
    LONG_NAME: "numeric",
    "name with blanks": "text",
    'the "quoted" name': "text",
    "share in %": "float8",
    "v1.2.mean": "numeric",
    'it\'s 50%, "or so"': "int4",
}


SMALL = ["0", "7", "-32768", "32767", "", "1", "-1", "12", "100", "2024", "-7", "42"]
ZONED = [
    "1970-01-01T00:00:00+00:00",
    "2024-02-29T23:59:59.999+07:00",
    "0001-01-02T00:00:00Z",
    "9999-12-31T00:00:00Z",
    "",
    "2019-06-30T12:00:00-03:30",
    "2020-01-01T00:00:00.123456Z",
    "2024-02-29T05:00:00+05:30",
    "2021-12-31T23:59:59Z",
    "2022-07-01T08:30:00+02:00",
    "2023-03-26T02:30:00+01:00",
    "2024-10-27T03:00:00+01:00",
]


def write_every_type():
    def j(value):
        return json.dumps(value, ensure_ascii=False)

    E = ""
    rows = [
        # text, int4, int8, float8, numeric, bool, date, timestamp, time,
        # json, texts, ints, long, blanks, quoted, %, dots, mixed
        [
            "plain words",
            0,
            0,
            "0.0",
            "0",
            "true",
            "1970-01-01",
            "1970-01-01T00:00:00.000",
            "00:00:00",
            j({}),
            j([]),
            j([]),
            "0.00",
            "first row",
            "zeros",
            "0.0",
            "0.0",
            0,
        ],
        [
            "007",
            7,
            7,
            "0.1",
            "1200.50",
            "false",
            "2024-02-29",
            "2024-02-29T23:59:59.999",
            "23:59:59.999",
            j({"code": "007", "open": True}),
            j(["007", "7"]),
            j([7, 0, 7]),
            "98.50",
            "leading zeros stay",
            "leap day",
            "12.5",
            "1.20",
            50,
        ],
        [
            "nước, rừng và đất",
            2147483647,
            9007199254740993,
            "1e-05",
            "123456789012345678901234567890",
            "true",
            "2026-03-31",
            "2026-03-31T08:30:00.001",
            "08:30:00",
            j({"tên": "Hà Nội", "dân số": 8053663}),
            j(["sông Hồng", "sông Đà", "sông Lô"]),
            j([2147483647, -2147483648]),
            "100.00",
            "int8 above 2^53",
            "diacritics",
            "1e-05",
            "3.14159",
            51,
        ],
        [
            'he said "yes", then left',
            -2147483648,
            -9007199254740993,
            "NaN",
            "0.000000000000000000000000000001",
            "false",
            "1999-12-31",
            "1999-12-31T12:00:00.500",
            "12:00:00.5",
            j([1, "two", None, 3.0]),
            j(["comma, inside", 'quote " inside', "back\\slash"]),
            j([-1, 0, 1]),
            "33.33",
            "not a number",
            "a tiny numeric",
            "NaN",
            "0.10",
            -50,
        ],
        [
            "two\nlines",
            1,
            9223372036854775807,
            "Infinity",
            "12345678901234567890.1234567890",
            "true",
            "0001-01-01",
            "2000-01-01T00:00:00.123",
            "06:05:04.321",
            j({"nested": {"list": [1, [2, [3]]]}}),
            j(["two\nlines"]),
            j([1]),
            "66.67",
            "largest int8",
            "scale kept",
            "Infinity",
            "100.00",
            1,
        ],
        [
            "",
            -1,
            -9223372036854775808,
            "-Infinity",
            "-1200.50",
            "false",
            "9999-12-31",
            "2038-01-19T03:14:07.000",
            "18:45:30",
            j("a string"),
            j([""]),
            j([10, 20, 30]),
            E,
            "smallest int8",
            "empty text cell",
            "-Infinity",
            "-0.50",
            2,
        ],
        [
            "100 % cotton & <b>markup</b>",
            42,
            9007199254740992,
            "1.7976931348623157e+308",
            "99.90",
            "true",
            "2025-06-15",
            "2025-06-15T17:20:10.250",
            "17:20:10",
            j(42.5),
            j(["<b>", "&amp;", "%s"]),
            j([4, 2]),
            "12.00",
            "2^53 itself",
            "largest float8",
            "99.9",
            "2.00",
            3,
        ],
        [
            "emoji 🌊 and 漢字",
            1000000,
            1234567890123456789,
            "2.2250738585072014e-308",
            "7.000",
            E,
            "2023-10-05",
            "2023-10-05T05:05:05.555",
            "05:05:05.555",
            j(True),
            j(["🌊", "漢字", "ʻokina"]),
            j([3, 1, 4, 1, 5]),
            "45.60",
            "beyond the basic plane",
            "small float8",
            "0.3333333333333333",
            "7.000",
            E,
        ],
        [
            "=1+1",
            17,
            17,
            "-0.0",
            "0.00",
            "false",
            E,
            "2022-07-01T09:00:00.010",
            E,
            j([]),
            j(["=1+1", "@x", "-y"]),
            E,
            "50.00",
            "looks like a formula",
            E,
            "-0.0",
            "1000.0",
            4,
        ],
        [
            "null",
            E,
            8,
            "123456789.123456789",
            "1000",
            "true",
            "2021-01-31",
            E,
            "11:11:11",
            j({"a": None}),
            j(["null", "NULL"]),
            j([0]),
            "75.25",
            "the word null is text",
            "no decimals",
            "50.0",
            E,
            5,
        ],
        [
            "tab\tand trailing blank ",
            99,
            E,
            E,
            E,
            E,
            "2020-02-29",
            "2020-02-29T00:00:00.999",
            "00:00:00.001",
            E,
            E,
            j([9, 9]),
            "1.50",
            E,
            "many empty cells",
            E,
            "5.5",
            E,
        ],
        [E, E, E, E, E, E, E, E, E, E, E, E, E, "every typed cell is empty", E, E, E, E],
    ]
    for row, small, zoned in zip(rows, SMALL, ZONED):
        row.insert(8, zoned)
        row.insert(1, small)
    write("every_type.csv", list(EVERY_TYPE), rows)


# --------------------------------------------------------------------------
# staff_training.csv: invented people

STAFF_FIELDS = [
    "staff_no",
    "name",
    "email",
    "unit",
    "course",
    "mode",
    "started_on",
    "completed_on",
    "hours",
    "score",
    "passed",
    "cost",
    "next_due",
    "remarks",
]
STAFF = [
    "Adaeze Okafor",
    "Birgit Lindqvist",
    "Clément Moreau",
    "Dung Nguyễn",
    "Emil Sørensen",
    "Fabiola Castillo",
    "Gregor Novák",
    "Haruka Tanaka",
    "Irina Petrova",
    "Jack O'Neill",
    "Kamau Mwangi",
    "Lucía García",
    "Mona Haddad",
    "Ngọc Trần",
    "Paweł Kowalski",
    "Ravi Iyer",
]
COURSES = [
    ("Swift-water safety", 16, "380.00", 2),
    ("First aid", 8, "95.00", 3),
    ("Data protection", 3, "0.00", 1),
    ("Boat handling", 24, "640.00", 5),
    ("SQL for analysts", 12, "210.50", 0),
    ("Fire warden", 4, "60.00", 2),
    ("Working at height", 8, "175.00", 2),
    ("Plain writing", 6, "120.00", 0),
]
REMARKS = [
    "",
    "",
    "",
    "Repeat the practical part.",
    "Asked for the advanced course.",
    "Certificate is filed.",
    "Moved from the spring date.",
    "Will mentor two newcomers.",
]


def write_staff():
    dice = Dice(SEED + 1)
    units = ["Field", "Laboratory", "Data", "Office"]
    unit_of = {name: units[i % 4] for i, name in enumerate(STAFF)}
    pairs = [(i, c) for i in range(len(STAFF)) for c in COURSES]
    chosen = []
    while len(chosen) < 40:
        pair = dice.pick(pairs)
        if pair not in chosen:
            chosen.append(pair)
    rows = []
    for i, (course, hours, cost, years) in sorted(chosen):
        name = STAFF[i]
        start = dt.date(2024, 1, 8) + dt.timedelta(days=dice.below(780))
        start -= dt.timedelta(days=max(0, start.weekday() - 4))  # a weekday
        running = dice.chance(0.12)
        end = start + dt.timedelta(days=(hours - 1) // 8)
        score = "" if running else f"{dice.between(480, 1000) / 10:.1f}"
        passed = "" if running else str(float(score) >= 60).lower()
        due = ""
        if passed == "true" and years:
            due = (end + dt.timedelta(days=365 * years)).isoformat()
        rows.append(
            [
                f"{(i * 37 + 4) % 1000:04d}",
                name,
                f"person{i + 1:02d}@example.org",
                unit_of[name],
                course,
                dice.pick(["classroom", "online", "field"]),
                start.isoformat(),
                "" if running else end.isoformat(),
                hours,
                score,
                passed,
                cost,
                due,
                dice.pick(REMARKS),
            ]
        )
    write("staff_training.csv", STAFF_FIELDS, rows)


# --------------------------------------------------------------------------
# debian_packages.csv: real data, from `apt-cache dumpavail`

DEBIAN_FIELDS = [
    "Package",
    "Version",
    "Section",
    "Priority",
    "Architecture",
    "Installed-Size",
    "Size",
    "Maintainer",
    "Homepage",
    "Description",
]
DEBIAN_ROWS = 600
# homepages that are only an entry in some package registry are left out
REGISTRY = re.compile(
    r"pypi|pythonhosted|cpan|backpan|cran\.|bioconductor|hackage|stackage|rubygems|npm"
    r"|crates|\.rs(/|$)|packagist|pecl|pear\.|ctan|conda|docker|nuget"
    r"|maven|sonatype|pkg\.|godoc|gopkg|\.pm(/|$)|luarocks|opam|elpa|quicklisp"
    r"|debian",
    re.I,
)


def write_debian(lines):
    packages, record = {}, {}

    def end():
        name = record.get("Package")
        section = record.get("Section", "")
        if (
            name
            and name not in packages
            and section
            and "/" not in section  # main only
            and not REGISTRY.search(record.get("Homepage", ""))
            and not REGISTRY.search(record.get("Description", ""))
        ):
            packages[name] = dict(record)
        record.clear()

    for line in lines:
        line = line.rstrip("\n")
        if not line:
            end()
        elif not line[0].isspace():
            key, _, value = line.partition(":")
            record[key] = value.strip()
    end()

    sections = {}
    for name in sorted(packages, key=lambda n: hashlib.sha256(n.encode()).digest()):
        sections.setdefault(packages[name]["Section"], []).append(name)
    chosen, turn = [], 0
    while len(chosen) < min(DEBIAN_ROWS, len(packages)):
        for section in sorted(sections):
            if turn < len(sections[section]) and len(chosen) < DEBIAN_ROWS:
                chosen.append(sections[section][turn])
        turn += 1
    rows = []
    for name in sorted(chosen):
        row = dict(packages[name])
        # no e-mail addresses, also not of a second maintainer
        who = re.sub(r"\s*<[^>]*>", "", row.get("Maintainer", ""))
        row["Maintainer"] = "" if "@" in who else who.strip().strip('"')
        rows.append([row.get(field, "") for field in DEBIAN_FIELDS])
    write("debian_packages.csv", DEBIAN_FIELDS, rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["debian"]:
        sys.stdin.reconfigure(encoding="utf-8")
        write_debian(sys.stdin)
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        write_survey()
        write_every_type()
        write_staff()
