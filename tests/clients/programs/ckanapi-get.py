"""Python package ckanapi 4.11, by GET alone: https://github.com/ckan/ckanapi."""

import json
import sys

import requests
from ckanapi import RemoteCKAN

with RemoteCKAN(sys.argv[1], get_only=True) as portal:
    (dataset,) = portal.action.package_search(q="river", rows=1)["results"]
    resource = portal.action.resource_show(id=dataset["resources"][0]["id"])
    page = portal.action.datastore_search(resource_id=resource["id"], sort="code")
    file = requests.get(resource["url"], timeout=60).text

found = {
    "dataset": dataset["name"],
    "title": dataset["title"],
    "resource": resource["id"],
    "format": resource["format"],
    "fields": [field["id"] for field in page["fields"] if field["id"] != "_id"],
    "total": page["total"],
    "stations": [record["station"] for record in page["records"]],
    "file": file.splitlines()[:2],
}
print(json.dumps(found))
