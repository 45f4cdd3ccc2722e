"""
Describe a page of the catalogue in DCAT-AP 3, as JSON-LD, and write that as Turtle.

Source: DCAT-AP 3.0.0 (SEMIC), Hydra Core for the pages, and the authority tables of the
Publications Office for frequencies and formats; RDF 1.1 Turtle.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest

from ...web.addresses import ResourceAddresses, find_path
from .models import Dataset, ListedDataset, get_metadata
from .published import (
    MAX_DESCRIPTION_LENGTH,
    File,
    ListPage,
    PublishedResource,
    add_addresses,
    build_catalogue_identifier,
    build_dataset_identifier,
    build_license_address,
    drop_empty,
    find_address,
    find_catalogue_path,
    get_site_description,
    get_site_title,
    quote_iri,
)

#: The vocabularies by their prefixes, in both notations.
PREFIXES: Final[Mapping[str, str]] = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "hydra": "http://www.w3.org/ns/hydra/core#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

_AUTHORITY: Final = "http://publications.europa.eu/resource/authority"
_MEDIA_TYPES: Final = "https://www.iana.org/assignments/media-types"

#: The codes of the authority table, by words that people write.
_FREQUENCIES: Final[Mapping[str, str]] = {
    **{code.lower(): code for code in ("HOURLY", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY")},
    **{code.lower(): code for code in ("ANNUAL", "BIENNIAL", "NEVER")},
    **dict.fromkeys(("annually", "yearly"), "ANNUAL"),
    "continuous": "CONT",
    "irregular": "IRREG",
}

#: The codes of the authority table; another format has its media type alone.
_FILE_TYPES: Final[Mapping[str, str]] = {
    **{name.lower(): name for name in ("CSV", "GEOJSON", "JSON", "PARQUET", "TSV", "XLSX", "XML")},
    "csv-excel": "CSV",
    "ndjson": "JSON",
}


def build_dcat_catalog(request: HttpRequest, page: ListPage) -> dict[str, Any]:
    """Build the JSON-LD of a page: the catalogue, its pages, and the datasets of this one."""
    addresses = ResourceAddresses(request)
    datasets = [_describe_dataset(request, each, addresses) for each in page.items]
    # The same for all pages and languages.
    identifier, title = build_catalogue_identifier(request), get_site_title()
    path = find_path(request, "action", "datastore_search")
    api = {
        "@id": f"{identifier}#api",
        "@type": "dcat:DataService",
        "dct:title": f"{title}: API",
        "dcat:endpointURL": {"@id": request.build_absolute_uri(path), "@type": "rdfs:Resource"},
    }
    catalog = {
        "@id": identifier,
        "@type": "dcat:Catalog",
        "dct:title": title,
        "dct:description": get_site_description(),
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": title},
        "foaf:homepage": {"@id": identifier, "@type": "foaf:Document"},
        "dcat:dataset": [{"@id": each["@id"]} for each in datasets],
        "dcat:service": [api] if path else [],
    }
    address = request.build_absolute_uri(request.path)
    links = {"first": 1, "last": page.last, "previous": page.number - 1, "next": page.number + 1}
    # Harvesters of ckanext-dcat look for a PagedCollection.
    pages = {
        "@id": f"{address}?page={page.number}",
        "@type": ["hydra:PagedCollection", "hydra:PartialCollectionView"],
        "hydra:totalItems": page.total,
        "hydra:itemsPerPage": page.size,
        **{
            f"hydra:{name}": {"@id": f"{address}?page={number}"}
            for name, number in links.items()
            if 1 <= number <= page.last
        },
    }
    return {"@context": dict(PREFIXES), "@graph": [drop_empty(catalog), pages, *datasets]}


def _describe_dataset(
    request: HttpRequest, listed: ListedDataset, addresses: ResourceAddresses
) -> dict[str, Any]:
    """Describe a dataset under the addresses of its resource, or of its place on a page."""
    dataset = listed.dataset
    published = [add_addresses(each, addresses) for each in listed.resources]
    if dataset.resource:
        identifier, landing_page = published[0].identifier, published[0].page
    else:
        identifier = build_dataset_identifier(request, dataset)
        catalogue = request.build_absolute_uri(find_catalogue_path(request))
        landing_page = f"{catalogue}?{urlencode({'q': dataset.id})}"
    frequency = _FREQUENCIES.get(dataset.frequency.strip().lower())
    versions = [each.resource.table_version for each in published]
    changes = [listed.modified_at, *(each.published_at for each in versions if each)]
    changed = max((moment for moment in changes if moment), default=None)
    source, address = find_address(dataset.source), dataset.contact_email
    contact, email = dataset.contact or address, address and {"@id": quote_iri(f"mailto:{address}")}
    bounds = {"dcat:startDate": dataset.temporal_start, "dcat:endDate": dataset.temporal_end}
    days = {
        name: {"@value": day.isoformat(), "@type": "xsd:date"}
        for name, day in bounds.items()
        if day
    }
    return drop_empty(
        {
            "@id": identifier,
            "@type": "dcat:Dataset",
            "dct:title": _list_texts(dataset, "title") or dataset.shown_name,
            "dct:description": _list_texts(dataset, "notes") or dataset.local_title.text,
            "dct:identifier": dataset.id,
            "dct:issued": _write_time(listed.created_at),
            "dct:modified": _write_time(changed),
            "dcat:version": dataset.shown_version,
            "dcat:keyword": sorted(dataset.tags),
            "dct:publisher": dataset.owner
            and {"@type": "foaf:Agent", "foaf:name": dataset.owner.shown_title},
            "dcat:contactPoint": contact
            and drop_empty({"@type": "vcard:Kind", "vcard:fn": contact, "vcard:hasEmail": email}),
            "dcat:landingPage": {"@id": landing_page, "@type": "foaf:Document"},
            # A ``dct:source`` would have to be a dataset with a description.
            "dct:provenance": dataset.source
            and drop_empty(
                {
                    "@type": "dct:ProvenanceStatement",
                    "rdfs:label": dataset.source,
                    "rdfs:seeAlso": source and {"@id": source},
                }
            ),
            "dct:spatial": dataset.spatial
            and {"@type": "dct:Location", "skos:prefLabel": dataset.spatial},
            "dct:temporal": days and {"@type": "dct:PeriodOfTime", **days},
            "dct:accrualPeriodicity": frequency
            and {"@id": f"{_AUTHORITY}/frequency/{frequency}", "@type": "dct:Frequency"},
            "dcat:distribution": [
                _describe_file(listed, each, file) for each in published for file in each.files
            ],
        }
    )


def _list_texts(dataset: Dataset, name: str) -> list[Any]:
    """List a text of a dataset in every language; the language of the original may be unknown."""
    texts: list[Any] = []
    for each in dataset.list_texts(name):
        shown = each.text[:MAX_DESCRIPTION_LENGTH]
        # Django has variants such as ca@valencia, which no language tag can be.
        language = each.language.partition("@")[0]
        texts.append({"@value": shown, "@language": language} if language else shown)
    return texts


def _describe_file(
    listed: ListedDataset, published: PublishedResource, file: File
) -> dict[str, Any]:
    """Describe a file; its title names the resource where the dataset has several."""
    resource = published.resource
    license_id = get_metadata(resource).license or listed.dataset.license
    license_address = build_license_address(license_id)
    file_type = _FILE_TYPES.get(file.format)
    address = {"@id": quote_iri(file.address), "@type": "rdfs:Resource"}
    has_several = len(listed.resources) > 1
    return drop_empty(
        {
            "@id": quote_iri(f"{published.identifier}#{file.format}"),
            "@type": "dcat:Distribution",
            "dct:title": f"{resource.local_title.text}: {file.label}"
            if has_several
            else file.label,
            "dcat:accessURL": address,
            "dcat:downloadURL": address,
            "dct:format": file_type
            and {"@id": f"{_AUTHORITY}/file-type/{file_type}", "@type": "dct:MediaTypeOrExtent"},
            "dcat:mediaType": file.media_type
            and {"@id": quote_iri(f"{_MEDIA_TYPES}/{file.media_type}"), "@type": "dct:MediaType"},
            "dct:license": license_address
            and {"@id": license_address, "@type": "dct:LicenseDocument"},
        }
    )


def _write_time(moment: datetime | None) -> dict[str, str] | None:
    if moment is None:
        return None
    return {"@value": moment.astimezone(UTC).isoformat(timespec="seconds"), "@type": "xsd:dateTime"}


# Turtle: compact names, prefixes, nothing else ----------------------------------------------------

_ESCAPES = {
    **{code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F)},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


def write_turtle(document: Mapping[str, Any]) -> str:
    """Write the graph of a document, each named node as a subject of its own."""
    prefixes = "".join(
        f"@prefix {name}: <{address}> .\n" for name, address in document["@context"].items()
    )
    waiting = list(document["@graph"])
    # It grows meanwhile: nested nodes with a name are written later, once each.
    blocks = (f"<{node['@id']}> {_write_members(node, waiting)} .\n" for node in waiting)
    return "\n".join([prefixes, *dict.fromkeys(blocks)])


def _write_members(node: Mapping[str, Any], waiting: list[Any]) -> str:
    members = []
    for name, value in node.items():
        written = []
        for each in value if isinstance(value, list) else [value]:
            if name.startswith("@"):
                written.append(each)
            elif isinstance(each, int):
                written.append(str(each))
            elif isinstance(each, str):
                written.append(f'"{each.translate(_ESCAPES)}"')
            elif "@value" in each:
                suffix = f"@{each['@language']}" if "@language" in each else f"^^{each['@type']}"
                written.append(f'"{each["@value"].translate(_ESCAPES)}"{suffix}')
            elif "@id" not in each:
                written.append(f"[ {_write_members(each, waiting)} ]")
            else:
                waiting += [each] if len(each) > 1 else []
                written.append(f"<{each['@id']}>")
        if name != "@id":
            members.append(f"{'a' if name == '@type' else name} {', '.join(written)}")
    return " ;\n    ".join(members)
