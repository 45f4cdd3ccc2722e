"""
Python package tableschema-ckan-datastore 1.1.

Source: https://github.com/frictionlessdata/tableschema-ckan-datastore-py
"""

import json
import sys

import requests
from tableschema_ckan_datastore import Storage

base = sys.argv[1]
everything = Storage(base).buckets
name = requests.get(f"{base}/api/3/action/package_list", timeout=60).json()["result"][0]
dataset = requests.get(f"{base}/api/3/action/package_show", params={"id": name}, timeout=60).json()[
    "result"
]
storage = Storage(base, dataset_id=name)
(table,) = storage.buckets
assert table in everything
schema = storage.describe(table)
rows = storage.read(table)
(resource,) = dataset["resources"]
file = requests.get(resource["url"], timeout=60).text
fields = [field["name"] for field in schema["fields"]]

found = {
    "dataset": name,
    "title": dataset["title"],
    "resource": table,
    "format": resource["format"],
    "fields": [field for field in fields if field != "_id"],
    "total": len(rows),
    "stations": [row["station"] for row in rows],
    "file": file.splitlines()[:2],
}
print(json.dumps(found))
