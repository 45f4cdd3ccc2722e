import json

from ckanapi import RemoteCKAN

with RemoteCKAN("https://portal.example/", apikey="API_TOKEN") as portal:
    result = portal.action.datastore_records_delete(
        resource_id="RESOURCE_ID",
        filters={"code": "003"},
    )
print(json.dumps(result))
