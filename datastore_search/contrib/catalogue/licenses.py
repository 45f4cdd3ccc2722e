"""
Licences by their SPDX ids: those that portals of open data use.

Source: the SPDX License List, and the Open Definition for what is open.
"""

from __future__ import annotations

from typing import Any, Final

#: Title, and address, by SPDX id.  All of them conform to the Open Definition.
OPEN_LICENSES: Final[dict[str, tuple[str, str]]] = {
    "CC-BY-4.0": (
        "Creative Commons Attribution 4.0",
        "https://creativecommons.org/licenses/by/4.0/",
    ),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ),
    "CC0-1.0": (
        "Creative Commons Zero 1.0",
        "https://creativecommons.org/publicdomain/zero/1.0/",
    ),
    "ODC-By-1.0": (
        "Open Data Commons Attribution License 1.0",
        "https://opendatacommons.org/licenses/by/1-0/",
    ),
    "ODbL-1.0": (
        "Open Data Commons Open Database License 1.0",
        "https://opendatacommons.org/licenses/odbl/1-0/",
    ),
    "OGL-UK-3.0": (
        "Open Government Licence 3.0",
        "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
    ),
    "PDDL-1.0": (
        "Open Data Commons Public Domain Dedication and Licence 1.0",
        "https://opendatacommons.org/licenses/pddl/1-0/",
    ),
    "etalab-2.0": (
        "Licence Ouverte 2.0",
        "https://www.etalab.gouv.fr/wp-content/uploads/2017/04/ETALAB-Licence-Ouverte-v2.0.pdf",
    ),
}


def describe_license(license_id: str) -> tuple[str, str, bool]:
    """Return the title and the address of a licence, and whether it is known to be open."""
    if license_id in OPEN_LICENSES:
        return (*OPEN_LICENSES[license_id], True)
    return license_id, license_id if license_id.startswith(("https://", "http://")) else "", False


def list_licenses() -> list[dict[str, Any]]:
    """Describe the known licences as CKAN's ``license_list``, whose truth values are texts."""
    return [
        {
            "domain_content": "True",
            "domain_data": "True",
            "domain_software": "False",
            "family": "",
            "id": license_id,
            "is_generic": "False",
            "maintainer": "",
            "od_conformance": "approved",
            "osd_conformance": "not reviewed",
            "status": "active",
            "title": title,
            "url": address,
        }
        for license_id, (title, address) in OPEN_LICENSES.items()
    ]
