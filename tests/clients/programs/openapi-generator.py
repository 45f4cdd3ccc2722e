"""The client that OpenAPI Generator 7.26 makes: https://openapi-generator.tech."""

import json
import sys
from typing import Any

from portal_client import (
    ApiClient,
    Configuration,
    DatastoreAggregateParameters,
    DatastoreAggregateParametersGroupBy,
    DatastoreAggregateParametersGroupByOneOfInner,
    DatastoreApi,
    DatastoreCreateParameters,
    DatastoreDeleteParameters,
    DatastoreFacetsParameters,
    DatastorePackageSearchParameters,
    DatastorePackageShowParameters,
    DatastorePageOfLists,
    DatastorePageOfObjects,
    DatastorePageOfText,
    DatastoreResourceShowParameters,
    DatastoreSearchParameters,
    DatastoreServerApi,
    DatastoreUpsertParameters,
    DatastoreWritingApi,
)
from portal_client.exceptions import ApiException

configuration = Configuration(host=sys.argv[1])
configuration.api_key["datastoreToken"] = sys.argv[2]
client = ApiClient(configuration)
server, reading, writing = (
    DatastoreServerApi(client),
    DatastoreApi(client),
    DatastoreWritingApi(client),
)

# The catalogue.
(name,) = server.package_list().result
dataset = server.package_show(DatastorePackageShowParameters.from_dict({"id": name})).result
(resource,) = dataset["resources"]
resource_id = resource["id"]
found = server.package_search(DatastorePackageSearchParameters.from_dict({"q": "river"})).result
assert (found["count"], found["results"][0]["id"]) == (1, dataset["id"])
shown = server.resource_show(DatastoreResourceShowParameters.from_dict({"id": resource_id}))
assert shown.result.items() >= resource.items()  # it has the state of a load, too


# Records in each form.
def search(**sent: Any) -> Any:
    return DatastoreSearchParameters.from_dict(
        {"resource_id": resource_id, "sort": ["code"], **sent}
    )


page = reading.datastore_search(search()).result.actual_instance
assert isinstance(page, DatastorePageOfObjects)
lists = reading.datastore_search(search(records_format="lists")).result.actual_instance
assert isinstance(lists, DatastorePageOfLists)
assert [row[2] for row in lists.records] == [
    record.additional_properties["station"] for record in page.records
]
text = reading.datastore_search(search(records_format="csv", limit=1)).result.actual_instance
assert isinstance(text, DatastorePageOfText)
assert (text.records_format, text.records[:6]) == ("csv", "1,001,")
filtered = search(filters={"code": ["001", None], "level": {"gt": 5}})
some = reading.datastore_search(filtered).result.actual_instance
assert isinstance(some, DatastorePageOfObjects)
assert some.total == 1
facets = reading.datastore_facets(
    DatastoreFacetsParameters.from_dict({"resource_id": resource_id, "facets": "station"})
)
assert facets.result.facets[0].var_field == "station"
# A list whose items have several forms takes the classes of the items.
asked = DatastoreAggregateParameters(
    resource_id=resource_id,
    group_by=DatastoreAggregateParametersGroupBy(
        [DatastoreAggregateParametersGroupByOneOfInner("station")]
    ),
    limit=2,
)
groups = reading.datastore_aggregate(asked).result
assert (groups.limit, len(groups.records.actual_instance)) == (2, 2)
assert groups.records_format == "objects"
file = reading.datastore_dump(resource_id)

# Writing.
sent = {"resource": {"name": "Made"}, "records": [{"a": 1}], "primary_key": ["a"]}
made = writing.datastore_create(DatastoreCreateParameters.from_dict(sent)).result
asked = {"resource_id": made.resource_id, "records": [{"a": 2}]}
assert writing.datastore_upsert(DatastoreUpsertParameters.from_dict(asked)).success
counted = reading.datastore_search(search(resource_id=made.resource_id, sort=["a"]))
assert counted.result.actual_instance.total == 2
assert writing.datastore_delete(
    DatastoreDeleteParameters.from_dict({"resource_id": made.resource_id})
).success
try:
    status = reading.datastore_search_with_http_info(search(sort=["nothing"])).status_code
except ApiException as error:
    status = error.status
assert status == 409

findings = {
    "dataset": name,
    "title": dataset["title"],
    "resource": resource_id,
    "format": resource["format"],
    "fields": [field.id for field in page.fields if field.id != "_id"],
    "total": page.total,
    "stations": [record.additional_properties["station"] for record in page.records],
    "file": str(file).splitlines()[:2],
}
print(json.dumps(findings))
