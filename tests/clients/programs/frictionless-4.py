"""Python package frictionless 4 with its CKAN storage: https://v4.framework.frictionlessdata.io."""

import json
import sys

import requests
from frictionless import Package
from frictionless.plugins.ckan import CkanDialect, CkanStorage

base = sys.argv[1]
name = requests.get(f"{base}/api/3/action/package_list", timeout=60).json()["result"][0]
storage = CkanStorage(base, dialect=CkanDialect(dataset=name))
(title,) = storage
package = Package.from_ckan(base, dialect=CkanDialect(dataset=name))
(resource,) = package.resources
resource.name = name  # it opens no resource whose name has a space
rows = resource.read_rows()
dataset = requests.get(f"{base}/api/3/action/package_show", params={"id": name}, timeout=60).json()[
    "result"
]
(described,) = dataset["resources"]
file = requests.get(described["url"], timeout=60).text

found = {
    "dataset": name,
    "title": title,
    "resource": described["id"],
    "format": described["format"],
    "fields": resource.schema.field_names,
    "total": len(rows),
    "stations": [row["station"] for row in rows],
    "file": file.splitlines()[:2],
}
print(json.dumps(found))
