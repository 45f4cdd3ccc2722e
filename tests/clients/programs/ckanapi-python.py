"""Python package ckanapi 4.11: https://github.com/ckan/ckanapi."""

import json
import sys

import requests
from ckanapi import RemoteCKAN

with RemoteCKAN(sys.argv[1]) as portal:
    (name,) = portal.action.package_list()
    dataset = portal.action.package_show(id=name)
    (resource,) = dataset["resources"]
    assert portal.action.package_search(q="river")["results"] == [dataset]
    shown = portal.action.resource_show(id=resource["id"])
    assert shown.pop("datastore_load")["state"] == "ready"
    assert shown == resource
    assert portal.action.resource_view_list(id=resource["id"]) == []
    assert portal.action.organization_list() == [dataset["organization"]["name"]]
    assert [tag["name"] for tag in dataset["tags"]] == portal.action.tag_list()
    page = portal.action.datastore_search(resource_id=resource["id"], sort="code")
    file = requests.get(resource["url"], timeout=60).text

found = {
    "dataset": name,
    "title": dataset["title"],
    "resource": resource["id"],
    "format": resource["format"],
    "fields": [field["id"] for field in page["fields"] if field["id"] != "_id"],
    "total": page["total"],
    "stations": [record["station"] for record in page["records"]],
    "file": file.splitlines()[:2],
}
print(json.dumps(found))
