"""The packages of the tables: those of this Debian, or generated ones on other systems."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_HELPER = Path("/usr/lib/apt/apt-helper")
#: The end of a paragraph of a description.
_EMPTY_LINE = re.compile(r"^\.$", re.MULTILINE)
_ENGLISH = ("-o", "Acquire::Languages=en")


class Package(NamedTuple):
    """One package, with Debian's names of fields, all of them texts."""

    name: str
    version: str
    section: str
    priority: str
    architecture: str
    installed_size: str
    size: str
    maintainer: str
    source: str
    homepage: str
    description: str


def read_packages() -> list[Package]:
    """List the packages of this Debian release; on another system, generated ones."""
    return _read_debian_packages() if shutil.which("apt-cache") else make_up_packages()


# Debian's -----------------------------------------------------------------------------------------


def _read_debian_packages() -> list[Package]:
    long = _read_long_descriptions()
    packages = {
        _build_package(stanza, long)
        for stanza in _parse_stanzas(_read_lines("apt-cache", "dumpavail"))
        if "Filename" in stanza  # packages installed by hand differ between machines
    }
    return sorted(packages) or make_up_packages()


def _build_package(stanza: dict[str, str], long: dict[str, str]) -> Package:
    name = stanza["Package"]
    return Package(
        name=name,
        version=stanza["Version"],
        section=stanza.get("Section", ""),
        priority=stanza.get("Priority", ""),
        architecture=stanza["Architecture"],
        installed_size=stanza.get("Installed-Size", ""),
        size=stanza["Size"],
        maintainer=stanza.get("Maintainer", ""),
        source=stanza.get("Source", name).partition(" ")[0],
        homepage=stanza.get("Homepage", ""),
        description=long.get(stanza.get("Description-md5", ""), stanza.get("Description", "")),
    )


def _read_long_descriptions() -> dict[str, str]:
    """Read the English descriptions that apt has fetched, by their checksums."""
    names = _read_lines(
        *("apt-get", *_ENGLISH, "indextargets"),
        *("--format", "$(FILENAME)", "Created-By: Translations"),
    )
    return {
        stanza["Description-md5"]: _EMPTY_LINE.sub("", stanza.get("Description-en", ""))
        for name in names
        for stanza in _parse_stanzas(_read_lines(str(_HELPER), "cat-file", name.strip()))
    }


def _parse_stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Read paragraphs of ``Name: value``; a line that begins with a blank continues the value."""
    stanza: dict[str, str] = {}
    name = ""
    for line in lines:
        text = line.rstrip("\n")
        if text.startswith((" ", "\t")):
            stanza[name] += f"\n{text[1:]}"
        elif text:
            name, _, value = text.partition(":")
            stanza[name] = value.strip()
        elif stanza:
            yield stanza
            stanza = {}
    if stanza:
        yield stanza


def _read_lines(*command: str) -> Iterator[str]:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as process:
        yield from process.stdout or ()


# Generated ----------------------------------------------------------------------------------------

_MADE_UP = 20_000
_SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "za"),
    *("kre", "sto", "pli", "dra", "bel", "nor", "tam"),
)
#: Weights as in Debian, for the values in the requests of the benchmark.
_SECTIONS = {"libs": 18, "python": 14, "doc": 14, "perl": 13, "utils": 7, "net": 3, "admin": 2}
_PRIORITIES = {"optional": 995, "extra": 4, "required": 1}
_COMMON_SHARE, _RARE_EVERY, _HOMELESS_SHARE = 0.2, 7_000, 0.07


def make_up_packages() -> list[Package]:
    """Generate packages, the same on every machine, with rare and common words and values."""
    chance = random.Random(20261121)
    words = sorted({"".join(chance.choices(_SYLLABLES, k=3)) for _ in range(5_000)})
    packages = [_make_up_package(chance, words, number) for number in range(_MADE_UP - 1)]
    return sorted([*packages, _make_up_package(chance, words, _MADE_UP)._replace(name="nginx")])


def _make_up_package(chance: random.Random, words: list[str], number: int) -> Package:
    name = f"{chance.choice(words)}-{chance.choice(words)}{number}"
    size = int(chance.lognormvariate(11, 2)) + 500
    text = chance.choices(words, k=55)
    if chance.random() < _COMMON_SHARE:
        text.insert(chance.randrange(50), "support")
    if number % _RARE_EVERY == 1:
        text.insert(chance.randrange(50), "chatroom")
    return Package(
        name=name,
        version=f"{chance.randrange(9)}.{chance.randrange(30)}-{chance.randrange(1, 5)}",
        section=_choose_weighted(chance, _SECTIONS),
        priority=_choose_weighted(chance, _PRIORITIES),
        architecture=chance.choice(("amd64", "all")),
        installed_size=str(size // 300 + 1),
        size=str(size),
        maintainer=f"{chance.choice(words[:2_000]).title()} Team <team@example.org>",
        source=name.partition("-")[0],
        homepage="" if chance.random() < _HOMELESS_SHARE else f"https://{name}.example.org/",
        description=f"{' '.join(text[:7])}\n{' '.join(text[7:])}",
    )


def _choose_weighted(chance: random.Random, weights: dict[str, int]) -> str:
    (value,) = chance.choices(list(weights), list(weights.values()))
    return value
