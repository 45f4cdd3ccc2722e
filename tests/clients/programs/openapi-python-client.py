"""The client that openapi-python-client 0.29 makes: https://pypi.org/project/openapi-python-client."""

import json
import sys
from typing import Any

from portal_client import AuthenticatedClient, models
from portal_client.api.datastore import (
    datastore_aggregate,
    datastore_dump,
    datastore_facets,
    datastore_search,
)
from portal_client.api.datastore_server import (
    package_list,
    package_search,
    package_show,
    resource_show,
)
from portal_client.api.datastore_writing import datastore_create, datastore_delete, datastore_upsert

client = AuthenticatedClient(sys.argv[1], token=sys.argv[2], prefix="")


def call(operation: Any, kind: Any, **sent: Any) -> Any:
    answer = operation.sync(client=client, body=kind.from_dict(sent))
    return answer.result if hasattr(answer, "result") else answer


def search(**sent: Any) -> Any:
    sent = {"resource_id": resource_id, "sort": ["code"], **sent}
    return call(datastore_search, models.DatastoreSearchParameters, **sent)


# The catalogue.
(name,) = call(package_list, models.DatastorePackageListParameters)
dataset = call(package_show, models.DatastorePackageShowParameters, id=name)
(resource,) = dataset["resources"]
resource_id = resource["id"]
found = call(package_search, models.DatastorePackageSearchParameters, q="river")
assert (found["count"], found["results"][0]["id"]) == (1, dataset["id"])
shown = call(resource_show, models.DatastoreResourceShowParameters, id=resource_id)
assert shown.items() >= resource.items()  # it has the state of a load, too

# Records in each form.
page = search()
assert isinstance(page, models.DatastorePageOfObjects)
lists = search(records_format="lists")
assert isinstance(lists, models.DatastorePageOfLists)
assert [row[2] for row in lists.records] == [record["station"] for record in page.records]
text = search(records_format="csv", limit=1)
assert isinstance(text, models.DatastorePageOfText)
assert (text.records_format, text.records[:6]) == ("csv", "1,001,")
assert search(filters={"code": ["001", None], "level": {"gt": 5}}).total == 1
asked = {"resource_id": resource_id, "facets": "station"}
assert (
    call(datastore_facets, models.DatastoreFacetsParameters, **asked).facets[0].field == "station"
)
asked = {"resource_id": resource_id, "group_by": ["station"], "metrics": ["count"]}
groups = call(datastore_aggregate, models.DatastoreAggregateParameters, **asked)
assert groups.records_format == "objects"
file = datastore_dump.sync_detailed(resource_id, client=client).content.decode()

# Writing.
sent = {"resource": {"name": "Made"}, "records": [{"a": 1}], "primary_key": ["a"]}
made = call(datastore_create, models.DatastoreCreateParameters, **sent)
asked = {"resource_id": made.resource_id, "records": [{"a": 2}]}
assert call(datastore_upsert, models.DatastoreUpsertParameters, **asked).resource_id
assert search(resource_id=made.resource_id, sort=["a"]).total == 2
asked = {"resource_id": made.resource_id}
assert call(datastore_delete, models.DatastoreDeleteParameters, **asked).resource_id
assert isinstance(search(sort=["nothing"]), models.DatastoreValidationError)

findings = {
    "dataset": name,
    "title": dataset["title"],
    "resource": resource_id,
    "format": resource["format"],
    "fields": [field.id for field in page.fields if field.id != "_id"],
    "total": page.total,
    "stations": [record["station"] for record in page.records],
    "file": file.splitlines()[:2],
}
print(json.dumps(findings))
