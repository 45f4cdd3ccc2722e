"""Python package frictionless 5 with its CKAN adapter: https://framework.frictionlessdata.io."""

import json
import sys

import requests
from frictionless import Catalog, Package
from frictionless.portals import CkanControl

base = sys.argv[1]
catalog = Catalog(control=CkanControl(baseurl=base))
(name,) = catalog.dataset_names
package = Package(control=CkanControl(baseurl=base, dataset=name))
(resource,) = package.resources
rows = resource.read_rows()
file = requests.get(resource.path, timeout=60).text

found = {
    "dataset": name,
    "title": package.title,
    "resource": resource.custom["id"],
    "format": resource.format.upper(),
    "fields": resource.schema.field_names[1:],
    "total": len(rows),
    "stations": [row["station"] for row in rows],
    "file": file.splitlines()[:2],
}
print(json.dumps(found))
